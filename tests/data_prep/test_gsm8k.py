import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prepared_data import ROOT, content, module_command, read_rows, real_data, run_module

from data_prep import gsm8k, math_benchmark
from madrl import __version__
from madrl.files import sha256_of
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Rollout, Verdict
from madrl.schema import check_parquet

SPLITS = ("train", "selection", "validation", "holdout")


def rows(count: int, start: int = 0) -> list[dict[str, str]]:
    return [
        {"question": f"Ann has {i} eggs and buys 1000. How many?", "answer": f"<<{i}+1000>> so\n#### {i + 1000:,}"}
        for i in range(start, start + count)
    ]


def write_source(folder: Path, train: list[Any], test: list[Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, lines in (("train", train), ("test", test)):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def prepare(source: Path, target: Path, *arguments: str) -> int:
    result: int = gsm8k.main(["--local_dataset_path", str(source), "--local_save_dir", str(target), *arguments])
    return result


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    twice = [*rows(300), {**rows(1, 1000)[0], "question": "Ann has 1000 eggs, and buys  1000: how many?"}]
    return write_source(tmp_path_factory.mktemp("source"), twice, rows(280, 1000))


@pytest.fixture(scope="module")
def prepared(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("prepared")
    assert prepare(source, folder) == 0
    return folder


def test_the_four_files_hold_rows_in_verls_columns(prepared: Path) -> None:
    assert [check_parquet(prepared / f"{split}.parquet") for split in SPLITS] == [150, 150, 60, 200]
    for split in SPLITS:
        for i, row in enumerate(read_rows(prepared, split)):
            assert row["data_source"] == f"gsm8k_{split}"
            assert row["ability"] == "math"
            assert (row["extra_info"]["index"], row["extra_info"]["split"]) == (i, split)
            problem = row["extra_info"]["problem"]
            assert row["prompt"][0]["content"].startswith(problem + "\n\n")
            assert row["reward_model"]["ground_truth"] == str(int(problem.split()[2]) + 1000)  # no comma


def test_evaluation_rows_are_the_benchmarks_test_rows(prepared: Path) -> None:
    origin = {split: {r["extra_info"]["origin"].split(".")[0] for r in read_rows(prepared, split)} for split in SPLITS}
    assert origin == {"train": {"train"}, "selection": {"train"}, "validation": {"test"}, "holdout": {"test"}}


def test_the_manifest_accounts_for_every_row(prepared: Path, source: Path) -> None:
    manifest = json.loads((prepared / "manifest.json").read_text("utf-8"))
    files = manifest.pop("files")
    assert manifest == {
        "dataset": "gsm8k",
        "source": "local files",
        "seed": 42,
        "madrl_version": __version__,
        "inputs": [
            {"name": "test.jsonl", "split": "test", "sha256": sha256_of(source / "test.jsonl")},
            {"name": "train.jsonl", "split": "train", "sha256": sha256_of(source / "train.jsonl")},
        ],
        "rows_read": {"test": 280, "train": 301},
        "rows_kept": {"test": 280, "train": 300},
        "held_out_rows_unused": 20,
        "notes": [
            "train has 301 rows, 7473 were published: is that meant?",
            "test has 280 rows, 1319 were published: is that meant?",
            "selection has 150 problems, not 200: there are too few to choose from",
        ],
        "drops": {"duplicate": 1},
        "dropped": [
            {
                "row": "train.jsonl, line 301",
                "split": "train",
                "reason": "duplicate",
                "detail": "of test.jsonl, line 1",
            }
        ],
    }
    for name, entry in files.items():
        assert entry["sha256"] == sha256_of(prepared / name)
        assert entry["data_source"] == f"gsm8k_{Path(name).stem}"


def test_the_same_arguments_give_the_same_bytes_in_another_process(
    prepared: Path, source: Path, tmp_path: Path
) -> None:
    for _ in range(2):  # the second time over its own output
        done = run_module("gsm8k", "--local_dataset_path", source, "--local_save_dir", tmp_path)
        assert done.returncode == 0, done.stderr
        assert content(tmp_path) == content(prepared)


def test_parquet_files_as_saved_from_the_hub_give_the_same_rows(prepared: Path, source: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        lines = [json.loads(line) for line in (source / f"{split}.jsonl").read_text("utf-8").splitlines()]
        path = tmp_path / f"hub/main/{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(lines), path)
    assert prepare(tmp_path / "hub", tmp_path / "out") == 0
    for split in SPLITS:
        texts = [[r["prompt"] for r in read_rows(folder, split)] for folder in (prepared, tmp_path / "out")]
        assert texts[0] == texts[1]


def test_the_hubs_dataset_gives_the_same_rows(
    prepared: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(gsm8k, "HUB", str(tmp_path / "hub"))
    (tmp_path / "hub/main").mkdir(parents=True)
    for split in ("train", "test"):
        lines = [json.loads(line) for line in (source / f"{split}.jsonl").read_text("utf-8").splitlines()]
        pq.write_table(pa.Table.from_pylist(lines), tmp_path / f"hub/main/{split}-00000-of-00001.parquet")
    files = "".join(f"  - split: {split}\n    path: main/{split}-*\n" for split in ("train", "test"))
    (tmp_path / "hub/README.md").write_text(f"---\nconfigs:\n- config_name: main\n  data_files:\n{files}---\n")
    assert gsm8k.main(["--local_save_dir", str(tmp_path / "out")]) == 0
    for split in SPLITS:
        texts = [[r["prompt"] for r in read_rows(folder, split)] for folder in (prepared, tmp_path / "out")]
        assert texts[0] == texts[1]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    assert manifest["source"] == str(tmp_path / "hub")
    assert [entry.keys() for entry in manifest["inputs"]] == [{"name", "split", "revision"}] * 2


def ungraded_1001(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """The math verifier, but it leaves the reference 1001 ungraded."""

    async def verify(rollout: Rollout) -> Any:
        verification = await load_verifier("math")(rollout)
        if rollout.ground_truth == "1001":
            verification = verification._replace(correctness=None, reason=reason)
        return verification

    monkeypatch.setattr(math_benchmark, "load_verifier", lambda spec: verify)


def test_a_reference_that_the_verifier_rejects_is_dropped_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ungraded_1001(monkeypatch, "bad_reference")
    assert prepare(write_source(tmp_path / "source", rows(20), []), tmp_path / "out") == 0
    assert "dropped: 1 rows, reference_rejected" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [drop["row"] for drop in manifest["dropped"]] == ["train.jsonl, line 2"]
    kept = [row["reward_model"]["ground_truth"] for split in SPLITS for row in read_rows(tmp_path / "out", split)]
    assert len(kept) == 19
    assert "1001" not in kept


def test_a_reference_that_cannot_be_graded_now_is_no_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ungraded_1001(monkeypatch, "worker_lost")
    assert prepare(write_source(tmp_path / "source", rows(20), []), tmp_path / "out") == 2
    assert "train.jsonl, line 2: the reference '1001' could not be graded: worker_lost" in capsys.readouterr().err
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"question": "Ann has 3", "ans', "line 4: not JSON"),
        ('{"problem": "2 + 2", "answer": "#### 4"}', "line 4: no field 'question', only ['answer', 'problem']"),
        ('{"question": 3, "answer": "#### 4"}', "line 4: field 'question' is int, not text"),
        ('{"question": "3?", "answer": "four"}', "line 4: GSM8K answer 'four' has no '#### N' at its end"),
    ],
)
def test_a_bad_file_is_one_line_that_names_the_row_and_leaves_the_old_output_alone(
    tmp_path: Path, bad: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_source(tmp_path / "source", rows(30), [])
    assert prepare(good, tmp_path / "out") == 0
    before = content(tmp_path / "out")
    lines = (good / "train.jsonl").read_text().splitlines()
    (good / "train.jsonl").write_text("\n".join([*lines[:3], bad, *lines[4:]]))
    capsys.readouterr()
    assert prepare(good, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert error.startswith("data_prep.gsm8k: error: ")
    assert f"train.jsonl, {message}" in error
    assert error.count("\n") == 1
    assert content(tmp_path / "out") == before


def test_bad_arguments_give_one_line_and_status_2(tmp_path: Path) -> None:
    for arguments, named in (((), "--local_save_dir"), (("--local_save_dir", tmp_path, "--see", "1"), "--see")):
        done = run_module("gsm8k", *arguments)
        assert (done.returncode, done.stderr.count("\n"), named in done.stderr) == (2, 1, True)
    [interpreter, *_], environment = module_command("gsm8k")
    script = [interpreter, str(ROOT / "data_prep/gsm8k.py")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "--local_save_dir" in done.stderr) == (2, True), done.stderr
    done = run_module("gsm8k", "--local_dataset_path", tmp_path / "gone", "--local_save_dir", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"data_prep.gsm8k: error: --local_dataset_path {tmp_path}/gone does not exist\n"


async def test_the_published_files_lose_no_row_to_the_verifier(tmp_path: Path) -> None:
    done = run_module("gsm8k", "--local_dataset_path", real_data("gsm8k"), "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    assert manifest["rows_kept"] == {"train": 7473, "test": 1319}
    assert manifest["dropped"] == manifest["notes"] == []
    assert [len(read_rows(tmp_path, split)) for split in SPLITS] == [7273, 200, 60, 200]
    verify = load_verifier("math")
    for row in read_rows(tmp_path, "holdout"):
        reference = row["reward_model"]["ground_truth"]
        assert float(reference) == int(reference)
        assert (await verify(Rollout(f"Thus \\boxed{{{reference}}}", reference))).verdict is Verdict.CORRECT
