"""``madrl classify`` and ``madrl verify`` on a user's dump: what lines gain, what is refused, what a kill leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import madrl
from madrl.classifiers import load_classifier
from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.judge_file import CHUNK, classify_file, verify_file
from madrl.rollout import Rollout, Verification

ROOT = Path(madrl.__file__).parent.parent
OPTIONS = ["Arctic", "Atlantic", "Indian", "Pacific", "Southern"]
LINES: list[dict[str, Any]] = [
    {"group": "a", "response": "The Pacific.", "ground_truth": json.dumps(OPTIONS), "note": "kept \ud800"},
    {"group": "a", "response": "Arctic", "ground_truth": OPTIONS, "category": "an older one"},
    {"group": "b", "response": "Pacific or Arctic", "ground_truth": OPTIONS},
    {"group": "b", "response": "", "ground_truth": "not a list"},
]

PLUGIN = """
import asyncio, os
from madrl.rollout import Classification, Verdict, Verification

def classify(rollout):
    if rollout.response == "bad":
        raise ValueError("no such thing")
    return Classification(rollout.data_source or None, str(rollout.extra_info.get("index", "")))

async def verify(rollout):
    with open("judged.log", "a") as log:
        log.write(rollout.response + "\\n")
    await asyncio.sleep(float(rollout.ground_truth))
    if rollout.response == "bad":
        raise ValueError("no such thing")
    return Verification(1.0, rollout.response)
"""


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a user in ``folder`` starts it."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT)
    }  # this tree's code, and the folder of the test's own plug-ins not
    command = [str(Path(sys.executable).with_name("madrl")), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(PLUGIN)
    return "mine"


def test_a_line_gains_its_category_and_keeps_the_rest(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES[:3])
    judged = classify_file(source, tmp_path / "out.jsonl", "choice")
    rows = read_jsonl(tmp_path / "out.jsonl")
    assert [(row["category"], row["category_reason"]) for row in rows] == [
        ("rank_4", ""),
        ("rank_1", ""),
        (None, "names 2 options"),
    ]
    assert judged.counts == {"rank_4": 1, "rank_1": 1, None: 1}
    assert rows[0]["note"] == "kept \ud800"
    assert names(tmp_path) == ["in.jsonl", "out.jsonl"]


def test_a_line_gains_its_verdict_answer_and_what_rescore_reads(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES)
    judged = verify_file(source, tmp_path / "out.jsonl", "listed_option")
    gained = [(r["verdict"], r["answer"], r["correct"]) for r in read_jsonl(tmp_path / "out.jsonl")]
    assert gained == [
        ("correct", "Pacific", True),
        ("correct", "Arctic", True),
        ("incorrect", None, False),
        ("unjudged", None, None),
    ]
    assert judged.counts == {"correct": 2, "incorrect": 1, "unjudged": 1}


async def one_test_of_four(rollout: Rollout) -> Verification:
    return Verification(0.25, extra={"passed": 1, "tests": 4})


def test_a_response_that_is_correct_in_part_keeps_its_part_and_what_else_was_found(tmp_path: Path) -> None:
    verify_file(write(tmp_path / "in.jsonl", LINES[:1]), tmp_path / "out.jsonl", f"{__name__}:one_test_of_four")
    (row,) = read_jsonl(tmp_path / "out.jsonl")
    assert (row["verdict"], row["correct"], row["verifier_extra"]) == ("partial", 0.25, {"passed": 1, "tests": 4})


def test_the_output_may_be_the_input(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES[:3])
    classify_file(source, source, "choice")
    verify_file(source, source, "listed_option")
    assert [(r["category"], r["correct"]) for r in read_jsonl(source)] == [
        ("rank_4", True),
        ("rank_1", True),
        (None, False),
    ]
    assert names(tmp_path) == ["in.jsonl"]


def test_the_file_says_what_training_would_say(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES[:3])
    classify_file(source, tmp_path / "out.jsonl", "choice")
    classify = load_classifier("choice")
    for row, made in zip(LINES[:3], read_jsonl(tmp_path / "out.jsonl"), strict=True):
        truth = row["ground_truth"]
        rollout = Rollout(row["response"], truth if isinstance(truth, str) else json.dumps(truth))
        assert classify(rollout) == (made["category"], made["category_reason"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 3: not JSON"),
        ('["response"]', "line 3: a JSON list where an object belongs"),
        ('{"ground_truth": "1"}', "line 3: no 'response'"),
        ('{"response": null, "ground_truth": "1"}', "line 3: no 'response'"),
        ('{"response": ["a"], "ground_truth": "1"}', "line 3: response ['a'] is not text"),
        ('{"response": "a", "ground_truth": null}', "line 3: no 'ground_truth'"),
        ('{"response": "a", "ground_truth": "1", "extra_info": 3}', "line 3: extra_info 3 is not an object"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_judged(tmp_path: Path, plugin: str, line: str, message: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"response": "1", "ground_truth": "0"}\n\n' + line + "\n")
    done = call(tmp_path, "verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "judged.log").exists()


def test_an_empty_file_and_a_missing_folder_are_one_clear_error(tmp_path: Path) -> None:
    empty = write(tmp_path / "in.jsonl", [])
    with pytest.raises(MadrlError, match="holds no responses"):
        classify_file(empty, tmp_path / "out.jsonl", "choice")
    with pytest.raises(MadrlError, match="folder does not exist"):
        classify_file(write(empty, LINES[:1]), tmp_path / "no" / "out.jsonl", "choice")


def test_a_plugin_in_the_current_folder_is_found_and_sees_the_whole_line(tmp_path: Path, plugin: str) -> None:
    write(tmp_path / "in.jsonl", [{"response": "x", "data_source": "mine", "extra_info": {"index": 7}}])
    done = call(tmp_path, "classify", f"{plugin}:classify", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert read_jsonl(tmp_path / "out.jsonl")[0]["category_reason"] == "7"


def test_a_classifier_that_raises_ends_the_command_and_a_verifier_that_raises_leaves_the_line_unjudged(
    tmp_path: Path, plugin: str
) -> None:
    write(tmp_path / "in.jsonl", [{"response": "bad", "ground_truth": "0"}, {"response": "good", "ground_truth": 0}])
    classified = call(tmp_path, "classify", f"{plugin}:classify", "in.jsonl", "-o", "out.jsonl")
    assert classified.returncode == 2
    assert "classifier mine:classify raised ValueError: no such thing" in classified.stderr.splitlines()[-1]
    assert not (tmp_path / "out.jsonl").exists()
    verified = call(tmp_path, "verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl")
    assert verified.returncode == 0, verified.stderr
    assert [row["verdict"] for row in read_jsonl(tmp_path / "out.jsonl")] == ["unjudged", "correct"]


def test_a_killed_command_goes_on_where_it_was(tmp_path: Path, plugin: str) -> None:
    """Two chunks: the first is done at once, the second waits until it is killed."""
    rows = [{"response": str(i), "ground_truth": 0 if i < CHUNK else 100_000} for i in range(CHUNK + 2)]
    write(tmp_path / "in.jsonl", rows)
    arguments = ["verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl"]
    command = [str(Path(sys.executable).with_name("madrl")), *arguments]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
        log = tmp_path / "judged.log"
        deadline = time.monotonic() + 600
        try:
            while not (log.exists() and log.read_text().count("\n") == CHUNK + 2):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            running.send_signal(signal.SIGKILL)
    assert not (tmp_path / "out.jsonl").exists()
    partial = next(tmp_path.glob(".out.jsonl.*.partial"))
    partial.write_bytes(partial.read_bytes() + b'{"response": "a line that was cut')
    log.unlink()
    plugin_file = tmp_path / "mine.py"
    plugin_file.write_text(PLUGIN.replace("float(rollout.ground_truth)", "0"))

    done = call(tmp_path, *arguments)

    assert done.returncode == 0, done.stderr
    assert f"{CHUNK + 2} ({CHUNK} of them by an earlier call)" in done.stdout
    assert log.read_text().split() == [str(CHUNK), str(CHUNK + 1)]
    assert [row["response"] for row in read_jsonl(tmp_path / "out.jsonl")] == [row["response"] for row in rows]
    assert not list(tmp_path.glob(".out*"))
