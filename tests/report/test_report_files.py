"""What `madrl report` writes: tables that say the same in every format, figures, the paper's numbers beside ours."""

import csv
import io
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import Made, small_report, write_jsonl, write_run

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.markdown import markdown_text
from madrl.report.build import parse_baseline
from madrl.report.csv_files import rows_csv
from madrl.report.numbers import Number
from madrl.report.paper import published
from madrl.report.rows import Study, main_rows
from madrl.report.study import load_runs, run_roots
from madrl.report.study_plots import incomplete_note
from madrl.report.table import BEST, INCOMPLETE, TIED, Section, Shown, Table, latex, markdown, table_html


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_report(tmp_path_factory)


def test_the_report_has_its_tables_in_every_format_and_its_figures_twice(written: Path) -> None:
    names = {path.name for path in written.iterdir()}
    tables = ("main", "mix", "grid", "accuracy", "synthetic", "divergences", "paper")
    assert {"index.html", "report.md", "rows.csv", "runs.csv", *(f"{table}.tex" for table in tables)} <= names
    for figure in ("shares", "accuracy", "divergence", "frontier"):
        assert (written / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (written / f"{figure}.pdf").read_bytes().startswith(b"%PDF")


def test_the_csv_has_a_line_for_every_row_with_what_is_missing(written: Path) -> None:
    lines = list(csv.DictReader(io.StringIO((written / "rows.csv").read_text())))
    main_rows = [line for line in lines if (line["kind"], line["dataset"]) == ("main", "gsm8k")]
    names = [line["reward"] for line in main_rows if line["target"] == "uniform"]
    assert names == ["base", "SFT init", "rlvr", "l2", "fkl", "rkl", "jsd"]
    failed = next(line for line in main_rows if (line["reward"], line["target"]) == ("l2", "uniform"))
    assert (failed["runs"], failed["expected"], failed["complete"]) == ("1", "2", "False")
    assert "seed 123: failed" in failed["missing"]
    assert failed["differs_from_best"] == ""
    base = next(line for line in main_rows if (line["reward"], line["target"]) == ("base", "peak"))
    assert float(base["jsd"]) == pytest.approx(0.6931, abs=5e-5)  # the paper's base row: nothing on the support
    assert base["divergences_fkl"] == "inf"


def test_a_category_whose_name_ends_as_a_column_does_overwrites_no_other(tmp_path: Path) -> None:
    write_run(Made(problems=2), tmp_path)
    (row,) = main_rows(Study(tuple(load_runs(run_roots([str(tmp_path)]))), ()), "gsm8k", "uniform")
    shares = {"risk": Number(0.5, 0.4, 0.6), "risk_low": Number(0.3, 0.2, 0.35), "risk_value": Number(0.1)}
    (line,) = csv.DictReader(io.StringIO(rows_csv([[replace(row, shares=shares)]])))
    found = {name: value for name, value in line.items() if name.startswith("shares")}
    assert found == {
        "shares_risk": "0.5", "shares.risk.low": "0.4", "shares_risk_high": "0.6", "shares.risk_low": "0.3",
        "shares_risk_low_low": "0.2", "shares_risk_low_high": "0.35", "shares_risk_value": "0.1",
    }  # fmt: skip


def test_the_csv_of_runs_names_every_run_and_its_state(written: Path) -> None:
    lines = list(csv.DictReader(io.StringIO((written / "runs.csv").read_text())))
    assert Counter(line["state"] for line in lines) == {"done": 40, "failed": 1}
    (failed,) = [line for line in lines if line["state"] == "failed"]
    assert (failed["reward"], failed["seed"], failed["jsd"]) == ("l2", "123", "")


def test_the_csv_files_have_accuracy_at_the_target_mix_and_the_two_parts_of_the_change(written: Path) -> None:
    names = ("pass_at_1_change_total", "pass_at_1_change_mix", "pass_at_1_change_within")
    for file, complete in (("rows.csv", {"runs": "2"}), ("runs.csv", {"state": "done"})):
        lines = list(csv.DictReader(io.StringIO((written / file).read_text())))
        line = next(of for of in lines if of["dataset"] == "gsm8k" and complete.items() <= of.items())
        total, mix, within = (float(line[name]) for name in names)
        assert total == pytest.approx(mix + within, abs=1e-12)
        if file == "rows.csv":
            value, low, high = (float(line[f"accuracy_at_target{end}"]) for end in ("", "_low", "_high"))
            assert low <= value <= high
        else:  # 160 responses to five categories: some have fewer than thirty
            few = [int(n) for name, n in line.items() if name.startswith("accuracy_at_target_few_") and n]
            assert few
            assert max(few) < 30
    runs = csv.DictReader(io.StringIO((written / "runs.csv").read_text()))
    expected = [f"{name}_interval_{end}" for name in names for end in ("low", "high")]
    assert {*expected, "accuracy_at_target_lacks"} <= {*(runs.fieldnames or ())}


def test_the_latex_balances_and_has_the_columns_it_declares(written: Path) -> None:
    for path in written.glob("*.tex"):
        tex = path.read_text()
        assert tex.count("{") - tex.count(r"\{") == tex.count("}") - tex.count(r"\}"), path.name
        (declared,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", tex)
        body = tex[tex.index(r"\toprule") : tex.index(r"\bottomrule")]
        for line in body.splitlines():
            if line.endswith(r"\\"):
                spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
                columns = len(re.findall(r"(?<!\\)&", line)) + 1 + sum(span - 1 for span in spans)
                assert columns == len(declared), (path.name, line)
        assert not re.search(r"[^\x00-\x7f]", tex), path.name


def test_the_report_says_that_miniatures_are_miniatures_and_what_is_missing(written: Path) -> None:
    for name in ("report.md", "index.html"):
        shown = (written / name).read_text()
        assert "not how well it does on the benchmark" in shown
        assert "gsm8k peak fkl gated seed 42: no run" in shown.replace("\\", "")


HOSTILE = Table(
    "t",
    "A | title_",
    "50 % & more",
    [],
    ["a_b", "<i>"],
    [Section("", [[Shown("x|y"), Shown("0.1", "1–2", BEST)], [Shown("<b>"), Shown("0.2", "", TIED)]])],
)


def test_names_are_text_in_every_format() -> None:
    assert r"| x\|y | **0.1** <sub>1–2</sub> |" in markdown(HOSTILE)
    assert r"\<b\>" in markdown(HOSTILE)
    assert markdown_text("~~x~~ &lt;b&gt;") == r"\~\~x\~\~ \&lt;b\&gt;"
    assert r"a\_b & <i> \\" in latex(HOSTILE)
    assert r"50 \% \& more" in latex(HOSTILE)
    assert r"\textbf{0.1} {\tiny 1--2}" in latex(HOSTILE)
    assert "&lt;b&gt;" in table_html(HOSTILE)
    assert "<b>" not in table_html(HOSTILE)


def test_an_incomplete_number_stands_in_parentheses_in_every_format() -> None:
    table = HOSTILE._replace(sections=[Section("", [[Shown("r"), Shown("0.3", "2/3", INCOMPLETE)]])])
    assert "| (0.3) <sub>2/3</sub> |" in markdown(table)
    assert r"(0.3) {\tiny 2/3}" in latex(table)
    assert '<td class="incomplete">(0.3)<small>2/3</small></td>' in table_html(table)


def test_the_paper_s_numbers_are_all_there_and_agree_with_its_text() -> None:
    numbers = published()
    # rl-main: 3 datasets x (6 rows x 2 targets + RLVR) x 2 numbers; rl-grid: 4 x 5 x 2 x 3; closedset: 2 x 2 x 4 x 3
    assert Counter(n.table for n in numbers) == {"table:rl-main": 78, "table:rl-grid": 120, "table:closedset": 48}
    assert len({n[:-1] for n in numbers}) == len(numbers)
    value = {n[1:-1]: n.value for n in numbers}
    # "1.2 to 8.5 points of pass@1 below RLVR"
    gaps = [
        value[dataset, "uniform", "rlvr", "", "pass@1"] - value[dataset, target, reward, "", "pass@1"]
        for dataset in ("gsm8k", "math", "code_contests")
        for target in ("uniform", "peak")
        for reward in ("l2", "fkl", "rkl", "jsd")
    ]
    assert (round(100 * min(gaps), 1), round(100 * max(gaps), 1)) == (1.3, 8.6)
    # "Mean held-out JSD rises from 0.0648 to 0.1726 on the uniform target and from 0.1806 to 0.3920 on the peaked one"
    means = [
        sum(value[form, target, reward, "", "jsd"] for reward in ("l2", "fkl", "rkl", "jsd")) / 4
        for target in ("uniform", "peak")
        for form in ("synthetic_closed", "synthetic_open")
    ]
    assert means == pytest.approx([0.0648, 0.1726, 0.1806, 0.3920], abs=6e-5)
    # "median spread across the four weights 0.0057 to 0.0444 nats"
    grid_value = {n[1:5]: n.value for n in numbers if n.table == "table:rl-grid"}
    spreads = {}
    for dataset in ("gsm8k", "math", "code_contests"):
        for target in ("uniform", "peak"):
            of = [
                [grid_value[dataset, target, reward, f"add{weight}"] for weight in (90, 80, 70, 55)]
                for reward in ("l2", "fkl", "rkl", "jsd")
            ]
            ranges = sorted(max(values) - min(values) for values in of)
            spreads[dataset, target] = (ranges[1] + ranges[2]) / 2
    assert (min(spreads.values()), max(spreads.values())) == pytest.approx((0.0057, 0.0444), abs=6e-5)


def test_the_comparison_shows_both_numbers_and_what_was_not_run(written: Path) -> None:
    shown = (written / "report.md").read_text()
    comparison = shown[shown.index("## Beside the paper") :]
    base = next(line for line in comparison.splitlines() if line.startswith("| base | jsd"))
    assert base.split(" | ")[2] == "0.4228"
    assert base.split(" | ")[3].startswith("0.4228")
    assert "off target, not told from the paper's" in base
    weight = next(line for line in comparison.splitlines() if line.startswith("| l2 add90 | jsd"))
    assert "*missing*" in weight
    # The runs have 16 problems with 4 responses each, the paper 200.
    ours = next(line for line in comparison.splitlines() if line.startswith("| rkl | jsd"))
    assert ours.split(" | ")[4:6] == ["—", "not comparable (n=64 against 800)"]
    assert "Correctness was decided by the verifier of the runs (GSM8K: math); the paper: exact match" in comparison
    assert "nothing here is to agree" in comparison


def test_a_figure_says_which_runs_are_missing_also_where_none_is_left() -> None:
    rows = [("l2", 2, 2), ("fkl", 1, 2), ("rlvr", 0, 3)]
    assert incomplete_note(rows) == "runs there: fkl 1 of 2, RLVR 0 of 3"
    assert incomplete_note(rows[:1]) == ""


def test_a_baseline_is_a_name_and_a_file() -> None:
    assert parse_baseline("math:SFT init=a=b.jsonl") == ("math", "SFT init", Path("a=b.jsonl"))
    assert parse_baseline("base=b.jsonl") == ("", "base", Path("b.jsonl"))
    for bad in ("base", "=x", "gsm8k:=x", "base="):
        with pytest.raises(MadrlError, match="NAME=FILE"):
            parse_baseline(bad)


def test_a_target_of_many_categories_has_a_short_name_that_is_explained_once(tmp_path: Path) -> None:
    names = [f"category <number> {number}" for number in range(60)]
    for seed, first in ((1, 1.0), (2, 1.0), (3, 1.0001)):
        root = write_run(Made(problems=2, seed=seed), tmp_path / "runs")
        weights = {name: first if place == 0 else 2.0 for place, name in enumerate(names)}
        text = (root / "config.yaml").read_text().replace("[en, zh, es, hi, fr]", json.dumps(names))
        (root / "config.yaml").write_text(text.replace("target: uniform", f"target: {json.dumps(weights)}"))
        for dump in root.glob("*/*.jsonl"):
            if dump.parent.name != "metrics":
                lines = [json.loads(line) for line in dump.read_text().splitlines()]
                write_jsonl(dump, [line | {"category": names[place % 60]} for place, line in enumerate(lines)])
    file = tmp_path / "base.jsonl"
    write_jsonl(file, [{"group": "p", "category": names[0], "correct": True}])
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "--baseline", f"base={file}"]) == 0
    shown = (tmp_path / "out" / "report.md").read_text()
    short = set(re.findall(r"own target \w{6}", shown))
    assert len(short) == 2  # two that differ in the fifth digit
    assert shown.count(r"category \<number\> 7:") == 2
    assert all(f"- {name}: category" in shown for name in short)
    assert all(name in (tmp_path / "out" / "index.html").read_text() for name in short)
    assert "<number>" not in shown


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("rkl",), "'rkl' is the name of a reward's own row"),
        (("RLVR",), "'RLVR' is the name of a reward's own row"),
        (("fkl, scheduled",), "'fkl, scheduled' is the name of a reward's own row"),
        (("init", "init"), "init.jsonl has that name, or one too like it: call one of them something else"),
        (("SFT init", "SFT-init"), "SFT init.jsonl has that name, or one too like it"),
    ],
)
def test_a_baseline_whose_row_would_take_another_s_name_is_an_error(
    names: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(Made(problems=2), tmp_path / "runs")
    files = [f"--baseline={name}={name}.jsonl" for name in names]
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out"), *files]) == 2
    assert said in capsys.readouterr().err


def test_a_baseline_of_no_dataset_of_the_runs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Made(problems=2, seed=1), tmp_path / "runs")
    write_run(Made(problems=2, seed=2), tmp_path / "runs")
    call = ["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "--baseline", "math:base=x.jsonl"]
    assert main(call) == 2
    assert "which dataset? write DATASET:base, of gsm8k" in capsys.readouterr().err


def test_runs_of_two_profiles_are_not_put_into_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Made(problems=2, seed=1), tmp_path)
    write_run(Made(problems=2, seed=2, profile="gpu"), tmp_path)
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "several profiles" in capsys.readouterr().err


def test_the_same_runs_give_the_same_files(tmp_path: Path) -> None:
    write_run(Made(problems=2, seed=1), tmp_path / "runs")
    write_run(Made(problems=2, seed=2), tmp_path / "runs")
    found = []
    for _ in range(2):
        assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
        found.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})
        shutil.rmtree(tmp_path / "out")
    assert found[0] == found[1]


def test_a_file_that_no_report_made_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [write_run(Made(problems=2, seed=seed), tmp_path / "runs") for seed in (1, 2)]
    out = tmp_path / "out"
    out.mkdir()
    (out / "rows.csv").write_text("mine")
    for call in (["report", str(tmp_path / "runs")], ["report", *map(str, runs)]):
        assert main([*call, "-o", str(out)]) == 2
        assert f"{out} already has rows.csv, which no report of madrl made" in capsys.readouterr().err
        assert {path.name: path.read_text() for path in out.iterdir()} == {"rows.csv": "mine"}
    (out / "index.html").write_text("mine too")
    assert main(["report", str(runs[0]), "-o", str(out)]) == 2  # the page of one run
    assert "already has index.html" in capsys.readouterr().err
    assert (out / "index.html").read_text() == "mine too"


def test_a_report_replaces_an_earlier_one_and_leaves_what_else_is_there(tmp_path: Path) -> None:
    runs = [write_run(Made(problems=2, seed=seed), tmp_path / "runs") for seed in (1, 2)]
    out = tmp_path / "out"
    assert main(["report", str(tmp_path / "runs"), "-o", str(out)]) == 0
    first = (out / "index.html").read_bytes()
    (out / "notes.txt").write_text("mine")
    assert main(["report", str(runs[0]), "-o", str(out)]) == 0  # only index.html, and no rows.csv of its own
    assert (out / "index.html").read_bytes() != first
    assert main(["report", str(tmp_path / "runs"), "-o", str(out)]) == 0  # rows.csv is still known as ours
    assert (out / "index.html").read_bytes() == first
    assert (out / "notes.txt").read_text() == "mine"


def test_a_report_that_fails_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (1, 2):
        write_run(Made(problems=2, seed=seed), tmp_path / "runs")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    call = ["report", str(tmp_path / "runs"), "-o", str(tmp_path / "new" / "out")]
    assert main([*call, "--baseline", f"base={tmp_path}/bad.jsonl"]) == 2
    assert "bad.jsonl, line 1" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "bad.jsonl"}
