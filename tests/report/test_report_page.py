"""The pages, opened and clicked in a real headless browser, and what a hostile response cannot do to them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, find_browser
from made_runs import Made, as_verl_dumps, responses, small_report, write_jsonl, write_run

from madrl.alarms import RunHealth
from madrl.cli import main
from madrl.errors import MadrlError
from madrl.evaluation.dumps import Run
from madrl.report.page import page, text
from madrl.report.run_page import report_run_page
from madrl.report.sample_responses import sample_responses

PROGRAM = find_browser()
in_a_browser = pytest.mark.skipif(
    PROGRAM is None, reason="no browser: apt-get install chromium-headless-shell, or put chromium on PATH"
)

HOSTILE = (
    "</script><script>window.attacked = 1</script><img src=x onerror='window.attacked = 2'>"
    "<style>body { display: none }</style>\x00\x1b[2J \u202e reversed \ud800 <!-- {{7*7}}"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run whose last dump begins with a hostile response."""
    folder = tmp_path_factory.mktemp("one")
    root = write_run(Made(), folder)
    rows = responses((0.2,) * 5, 0.5, 0.1, 40, 4, 0, "holdout")
    rows[0] |= {
        "response": HOSTILE,
        "prompt": HOSTILE,
        "reason": HOSTILE,
        "answer": HOSTILE,
        "category": "hi",
        "correct": 0.0,
    }
    rows[1] |= {"response": "x" * 100_000, "correct": None, "category": "en"}
    write_jsonl(root / "holdout" / "40.jsonl", rows)
    for step in range(1, 41):
        scores = [{"group": "p", "category": "en", "correct": step % 2 == 0} for _ in range(8)]
        write_jsonl(root / "scores" / f"{step}.jsonl", scores)
    assert main(["report", str(root), "-o", str(folder / "out")]) == 0
    return folder / "out" / "index.html"


@pytest.fixture(scope="module")
def study_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_report(tmp_path_factory) / "index.html"


def pressed(browser: Browser, plot: str) -> str:
    shown = browser.run(f"document.getElementById('plot-{plot}').dataset.shown")
    assert isinstance(shown, str)
    return shown


@in_a_browser
def test_the_page_of_many_runs_draws_switches_and_hides(browser: Browser, study_page: Path) -> None:
    browser.problems.clear()
    browser.open(study_page)
    browser.wait("document.body.dataset.drawn === '4'")
    assert pressed(browser, "divergence") == "GSM8K, uniform target / JSD"
    # Buttons: the second target, then the third metric.
    rows = "#plot-divergence"
    browser.run(f"document.querySelector('{rows}').previousElementSibling.id = 'metrics'")
    browser.run("document.querySelector('#metrics').previousElementSibling.id = 'panels'")
    browser.click("#panels button:nth-child(2)")
    browser.click("#metrics button:nth-child(3)")
    assert pressed(browser, "divergence") == "GSM8K, peaked target / forward KL"
    assert browser.run("document.querySelector('#plot-divergence .ytitle').textContent") == "forward KL, nats"
    # A click on a name in the legend hides its curve and band (after plotly has waited for a double click).
    lines = "document.querySelectorAll('#plot-divergence .scatterlayer .trace').length"
    before = browser.run(lines)
    browser.click("#plot-divergence .legend .traces:nth-child(1) .legendtoggle")
    browser.wait(f"{lines} === {before - 3}")
    # A bar says what it is, and of how many runs.
    browser.click("#plot-shares .barlayer .trace:nth-child(2) .point path")
    browser.wait("document.querySelector('#plot-shares .hoverlayer .hovertext') !== null")
    assert "of 2 runs" in browser.run("document.querySelector('#plot-shares .hoverlayer').textContent")
    # A dot says which run it is; the frontier has one for each that is done.
    assert pressed(browser, "frontier") == "GSM8K, uniform target / pass@1"
    marks = "document.querySelectorAll('#plot-frontier .scatterlayer .points path').length"
    # Four divergences, gated and additive, two seeds, less the run that failed; and RLVR twice.
    assert browser.run(marks) == 17
    browser.run("document.querySelector('#plot-frontier').previousElementSibling.id = 'heights'")
    browser.click("#heights button:nth-child(2)")
    assert pressed(browser, "frontier") == "GSM8K, uniform target / off-support rate"
    assert browser.run(marks) == 17
    assert browser.run("document.querySelectorAll('.notice.alarm li').length") == 2
    assert browser.problems == []


@in_a_browser
def test_the_page_of_one_run_draws_and_filters_its_samples(browser: Browser, run_page: Path) -> None:
    browser.problems.clear()
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    assert browser.run("document.querySelectorAll('.plot .main-svg').length") >= 5
    everything = browser.run("document.querySelectorAll('.sample').length")
    browser.click("[data-filter=verdict] button[value=ungraded]")
    shown = "[...document.querySelectorAll('.sample:not([hidden])')]"
    assert browser.run(f"{shown}.map(s => s.dataset.verdict)") == ["ungraded"]
    browser.click("[data-filter=category] button[value=hi]")
    assert browser.run(f"{shown}.length") == 0
    browser.click("[data-filter=verdict] button[value='']")
    assert set(browser.run(f"{shown}.map(s => s.dataset.category)")) == {"hi"}
    browser.click("[data-filter=category] button[value='']")
    assert browser.run(f"{shown}.length") == everything
    assert browser.problems == []


PAPER = "getComputedStyle(document.body).backgroundColor"
IN_PLOT = "getComputedStyle(document.querySelector('#plot-shares .main-svg')).backgroundColor"
TEXT_IN_PLOT = "getComputedStyle(document.querySelector('#plot-shares .xtitle')).fill"
WHITE, INK = "rgb(255, 255, 255)", "rgb(28, 33, 39)"


@in_a_browser
def test_a_page_and_its_plots_are_as_the_reader_s_system_until_the_button_is_pressed(
    browser: Browser, run_page: Path
) -> None:
    browser.problems.clear()
    browser.prefer("dark")
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    dark = browser.run(PAPER)
    assert dark != WHITE
    assert browser.run(IN_PLOT) == dark
    assert browser.run(TEXT_IN_PLOT) == browser.run("getComputedStyle(document.body).color") != INK
    assert "var(" not in browser.run("document.querySelector('#plot-jsd').innerHTML")
    # The dashed line at the target is no category's, and of the colour of text.
    assert browser.run("document.querySelector('#plot-shares .shapelayer path').style.stroke") == browser.run(
        TEXT_IN_PLOT
    )
    browser.click("#theme")
    assert [browser.run(one) for one in (PAPER, IN_PLOT, TEXT_IN_PLOT)] == [WHITE, WHITE, INK]
    browser.click("#theme")
    assert [browser.run(one) for one in (PAPER, IN_PLOT)] == [dark, dark]
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    browser.prefer("light")
    browser.wait(f"{IN_PLOT} === '{WHITE}'")
    assert browser.run(PAPER) == WHITE
    assert browser.problems == []


@in_a_browser
def test_a_dark_page_is_printed_light_and_within_the_paper_and_what_was_hidden_stays_so(
    browser: Browser, run_page: Path, tmp_path: Path
) -> None:
    browser.prefer("dark")
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    lines = "document.querySelectorAll('#plot-shares .scatterlayer .trace').length"
    everything = browser.run(lines)
    browser.click("#plot-shares .legend .traces:nth-child(1) .legendtoggle")
    browser.wait(f"{lines} < {everything}")
    fewer, dark = browser.run(lines), browser.run(PAPER)
    width = "document.querySelector('#plot-shares .main-svg').getBoundingClientRect().width"
    seen = ", ".join((PAPER, IN_PLOT, TEXT_IN_PLOT, width, lines))
    browser.run(f"addEventListener('beforeprint', () => window.printed = [{seen}])")
    browser.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    # A4 without its margins of 12 mm is 186 mm, 703 CSS pixels.
    assert browser.run("window.printed") == [WHITE, WHITE, INK, 680, fewer]
    browser.wait(f"{width} !== 680")
    assert [browser.run(one) for one in (PAPER, IN_PLOT, lines)] == [dark, dark, fewer]
    browser.prefer("light")


@in_a_browser
def test_a_table_that_goes_on_behind_the_edge_has_a_shadow_there(
    browser: Browser, run_page: Path, tmp_path: Path
) -> None:
    from matplotlib.image import imread

    browser.prefer("light")
    browser.resize(390)
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    table = "document.querySelector('#table-evaluations .scroll')"
    assert browser.run(f"{table}.scrollWidth > {table}.clientWidth && {table}.tabIndex === 0")

    def edge() -> float:
        """The brightness of the last pixels of most lines of the table: the median leaves text out."""
        browser.screenshot_of("#table-evaluations .scroll", tmp_path / "table.png")
        return float(np.median(imread(tmp_path / "table.png")[:, -2, :3]))

    assert edge() < 0.95
    browser.run(f"{table}.scrollLeft = {table}.scrollWidth")
    assert edge() == 1.0
    browser.resize(1280)


@in_a_browser
def test_a_hostile_response_is_shown_and_does_nothing(browser: Browser, run_page: Path) -> None:
    browser.problems.clear()
    browser.open(run_page)
    browser.wait("document.body.dataset.drawn > 0")
    assert browser.run("window.attacked === undefined && document.querySelectorAll('img').length === 0")
    shown = browser.run("[...document.querySelectorAll('.sample pre')].map(p => p.textContent).join('')")
    assert "</script><script>window.attacked = 1</script>" in shown
    assert "␀␛[2J" in shown
    assert browser.run("getComputedStyle(document.body).display") == "block"


@in_a_browser
def test_should_a_script_slip_through_the_page_s_policy_stops_it(browser: Browser, tmp_path: Path) -> None:
    slipped = tmp_path / "slipped.html"
    attack = "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 2'><p id=after>"
    slipped.write_text(page("t", f"{attack}<script src='https://example.org/x.js'></script>", []), encoding="utf-8")
    browser.problems.clear()
    browser.open(slipped)
    assert browser.run("document.getElementById('after') !== null && window.attacked === undefined")
    assert any("Content Security Policy" in problem for problem in browser.problems)
    browser.problems.clear()


def test_a_flood_is_cut_and_says_by_how_much(run_page: Path) -> None:
    shown = run_page.read_text(encoding="utf-8")
    assert "x" * 4000 + "<i> … 96000 more characters</i>" in shown
    assert "x" * 4001 not in shown


def test_the_pages_stay_below_a_megabyte_and_fetch_nothing(run_page: Path, study_page: Path) -> None:
    for path in (run_page, study_page):
        assert path.stat().st_size < 1_000_000
        without_plotly = re.sub(r'id="plotly">.*?<', "", path.read_text(encoding="utf-8"))
        assert "http" not in without_plotly.replace("http-equiv", "")


def test_text_shows_control_characters_and_mends_lone_surrogates() -> None:
    assert text("a\x00<b>\r\n\ud800") == "a␀&lt;b&gt;\n\ufffd"


def test_the_samples_are_of_every_category_and_verdict_in_turn(tmp_path: Path) -> None:
    root = write_run(Made(problems=60), tmp_path)
    rows = [
        {"group": str(i), "prompt": f"p{i // 2}", "response": "o", "category": "en", "correct": True} for i in range(20)
    ]
    rows += [{"group": str(i), "prompt": f"p{i}", "response": "o", "category": "en", "correct": False} for i in (0, 1)]
    rows += [{"group": "0", "prompt": "p0", "response": "o", "category": None, "correct": v} for v in (None, 0.5)]
    write_jsonl(root / "holdout" / "40.jsonl", rows)
    found = list(sample_responses(Run.load(root)))
    verdicts = [(s.category, s.verdict) for s in found]
    assert verdicts[:4] == [("en", "correct"), ("en", "incorrect")] * 2
    assert verdicts[4:] == [("en", "correct")] * 2 + [("off-support", "ungraded"), ("off-support", "partial")]
    assert len({s.prompt for s in found if s.verdict == "correct"}) == 4


def generated(**more: Any) -> dict[str, Any]:
    """A line as `madrl generate` and `madrl holdout` write it."""
    line = {"group": "0", "prompt": "2 + 2?", "response": "It is 4.", "ground_truth": "4", "split": "holdout"}
    return line | {"category": "en", "correct": True, "answer": "4", "reason": "", "finish_reason": "stop"} | more


def test_the_samples_of_a_holdout_dump_have_its_facts(tmp_path: Path) -> None:
    root = write_run(Made(), tmp_path)
    cut = generated(group="1", correct=False, answer=None, reason="no answer", finish_reason="length")
    write_jsonl(root / "holdout" / "40.jsonl", [generated(), cut])
    whole, short = sample_responses(Run.load(root))
    assert whole == ("en", "correct", "2 + 2?", "It is 4.", {"answer": "4", "ground_truth": "4"})
    assert short.facts == {"reason": "no answer", "ground_truth": "4", "cut": "at the length limit"}


def test_the_samples_of_programs_repeat_neither_the_program_nor_its_tests(tmp_path: Path) -> None:
    root = write_run(Made(), tmp_path)
    config = root / "config.yaml"
    config.write_text(config.read_text().replace("verifier: math", "verifier: code"))
    program = generated(answer="print(4)", ground_truth='{"tests_file": "t.json"}', correct=False, reason="ce")
    write_jsonl(root / "holdout" / "40.jsonl", [program])
    (sample,) = sample_responses(Run.load(root))
    assert sample.facts == {"reason": "ce"}


def test_a_run_that_went_on_after_its_holdout_is_shown_where_it_is_now(tmp_path: Path) -> None:
    root = write_run(Made(problems=2), tmp_path)
    rows = responses((1, 0, 0, 0, 0), 1.0, 0.0, 2, 4, 0, "validation")
    write_jsonl(root / "validation" / "60.jsonl", [as_verl_dumps(row | {"response": "later"}) for row in rows])
    assert {sample.response for sample in sample_responses(Run.load(root))} == {"later"}
    (written,) = report_run_page(str(root), tmp_path / "out")
    shown = written.read_text(encoding="utf-8")
    assert "<span>Pooled responses</span><b>validation\nstep 60</b>" in shown
    assert re.search(r"Categories</h2>.*<td>step 60</td>", shown, re.DOTALL)


def test_the_page_of_a_run_shows_both_distances_each_with_its_n_and_floor(tmp_path: Path) -> None:
    for dataset, first in (("gsm8k", "pooled"), ("synthetic_closed", "mean of prompts")):
        root = write_run(Made(dataset=dataset, samples=8, off_support=0.0), tmp_path)
        (written,) = report_run_page(str(root), tmp_path / dataset)
        shown = written.read_text(encoding="utf-8")
        # 40 problems with 8 responses each; 4 prompts with 8 responses a training step.
        for title, n, floor in (("Single prompts", 8, "0.0882"), ("Pooled responses", 320, "0.0016")):
            tile = (
                rf"<span>{title}</span><b>holdout\nstep 40</b><small>n = {n}</small>.*?<span>floor</span><b>{floor}</b>"
            )
            assert re.search(tile, shown)
        assert "<small>n = 8</small>" in shown
        befores = re.findall(
            "JSD, nats</span>.*?<small>before: ([0-9.]+), validation step 0, n = ([0-9]+)</small>", shown
        )
        start = Run.load(root).evaluations()[0]
        assert befores == [
            (f"{start['jsd']:.4f}", "320"),
            (f"{start['jsd_per_prompt']['mean']:.4f}", "8"),
        ]
        (plots,) = re.findall(r'id="plots">(.*?)</script>', shown)
        (jsd,) = [plot for plot in json.loads(plots) if plot["name"] == "jsd"]
        assert jsd["choices"][0]["labels"] == [first]
        floors = {c["labels"][0]: c["layout"]["shapes"][0]["label"]["text"] for c in jsd["choices"]}
        assert floors == {"pooled": "floor at n=32: mean to p95", "mean of prompts": "floor at n=8: mean to p95"}
        lines = {c["labels"][0]: c["data"][0]["y"][0] for c in jsd["choices"]}
        # as logged at step 1: 0.2 x 0.1 + 0.3 and 0.05 + 0.4
        assert lines == pytest.approx({"pooled": 0.32, "mean of prompts": 0.45})


def test_an_alarm_is_told_with_its_category_its_steps_and_what_to_do(tmp_path: Path) -> None:
    root = write_run(Made(), tmp_path)
    shares = {"en": 0.76, "zh": 0.0, "es": 0.08, "hi": 0.08, "fr": 0.08}
    starved = {f"mad/share/{name}": share for name, share in shares.items()}
    cut = dict.fromkeys(starved, 0.2) | {"mad/truncated_failed_rate": 0.5}
    health = RunHealth(Run.load(root).settings, prompts=8, group_size=16)
    # Raised when 8 steps have passed; cleared when the mean of the last 8 is above 0.05 / (2/3) = 0.075: with three
    # fed steps, 3 x 0.2 / 8, it equals it. The other alarm needs 8 steps of its own.
    health.resume({step: starved if step <= 12 else cut for step in range(1, 21)}, 21, root / "alarms.jsonl")
    report_run_page(str(root), tmp_path / "out")
    (shown,) = re.findall(r'id="alarms">(.*?)</div>', (tmp_path / "out" / "index.html").read_text())
    on, over = re.findall("<li>(.*?)</li>", shown)
    assert on.startswith("<b>truncated</b>, since step 20: over the last 8 steps 50.0% of the responses were cut")
    assert re.match(r"<b>starved_categories \(zh\)</b>, steps 8 to 1[45], over: over the last 8 steps the shares", over)
    assert "madrl.reward" in over, "what to do"


def test_a_run_with_nothing_to_see_yet_says_so(tmp_path: Path) -> None:
    root = write_run(Made(), tmp_path)
    for name in ("metrics", "validation", "holdout"):
        for file in (root / name).iterdir():
            file.unlink()
    with pytest.raises(MadrlError, match="after its first step"):
        report_run_page(str(root), tmp_path / "out")


def test_a_run_that_has_only_begun_has_a_page(tmp_path: Path) -> None:
    root = write_run(Made(status="running", steps=1), tmp_path)
    for file in (root / "validation").iterdir():
        file.unlink()
    record = {"step": 1, "data": {"mad/jsd": float("nan"), "mad/share/en": 1.0}}
    (root / "metrics" / "attempt-1.jsonl").write_text(json.dumps(record) + "\n")
    (written,) = report_run_page(str(root), tmp_path / "out")
    assert "Step 1 of 1" in written.read_text(encoding="utf-8")


def test_before_is_the_first_evaluation_of_the_last_one_s_split_and_nothing_where_there_is_but_one(
    tmp_path: Path,
) -> None:
    root = write_run(Made(), tmp_path)
    first = responses((1, 0, 0, 0, 0), 1.0, 0.0, 25, 4, 0, "holdout")
    write_jsonl(root / "holdout" / "10.jsonl", first)
    (written,) = report_run_page(str(root), tmp_path / "out")
    # All in one of five wanted categories: a JSD of (ln(5/3) + 0.2 ln(1/3) + 0.8 ln 2) / 2 = 0.4228.
    assert "<small>before: 0.4228, holdout step 10, n = 100</small>" in written.read_text(encoding="utf-8")
    only = write_run(Made(seed=1, holdout=False), tmp_path)
    for file in (only / "validation").iterdir():
        if file.name != "0.jsonl":
            file.unlink()
    (written,) = report_run_page(str(only), tmp_path / "only")
    assert "before:" not in written.read_text(encoding="utf-8")
