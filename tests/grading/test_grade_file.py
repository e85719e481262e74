"""``madrl classify`` and ``madrl verify`` on a user's dump: what lines gain, what is refused, what a kill leaves."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import madrl
from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.classifiers import load_classifier
from madrl.grading.grade_file import CHUNK, classify_file, verify_file
from madrl.rollout import Classification, Rollout, Verification

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
from helper import mended
from madrl.rollout import Classification, Verdict, Verification

def classify(rollout):
    if rollout.response == "bad" and not mended():
        raise ValueError("no such thing")
    return Classification(rollout.data_source or None, str(rollout.extra_info.get("index", "")))

async def verify(rollout):
    with open("graded.log", "a") as log:
        log.write(rollout.response + "\\n")
    while rollout.ground_truth == "waits" and not os.path.exists("go"):
        await asyncio.sleep(0.01)
    if rollout.response == "bad" and not mended():
        raise ValueError("no such thing")
    return Verification(1.0, rollout.response)
"""

HELPER = """
import os

def mended():
    return os.path.exists("mended")
"""


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# This tree's code; a plug-in is found in the folder that the command is started in.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
MADRL = str(Path(sys.executable).with_name("madrl"))


def call(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """The command as a user in ``folder`` starts it."""
    command = [MADRL, *arguments]
    text = stdin.decode()
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, input=text, capture_output=True, text=True, check=False)


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "helper.py").write_text(HELPER)
    return "mine"


def test_a_line_gains_its_category_and_keeps_the_rest(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES[:3])
    graded = classify_file(source, tmp_path / "out.jsonl", "choice")
    rows = read_jsonl(tmp_path / "out.jsonl")
    assert [(row["category"], row["classified"], row["category_reason"]) for row in rows] == [
        ("rank_4", True, ""),
        ("rank_1", True, ""),
        (None, True, "names 2 options"),
    ]
    assert graded.counts == {"rank_4": 1, "rank_1": 1, None: 1}
    assert rows[0]["note"] == "kept \ud800"
    assert names(tmp_path) == ["in.jsonl", "out.jsonl"]


def test_a_line_gains_its_verdict_answer_and_what_rescore_reads(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", LINES)
    graded = verify_file(source, tmp_path / "out.jsonl", "listed_option")
    gained = [(r["verdict"], r["answer"], r["correct"]) for r in read_jsonl(tmp_path / "out.jsonl")]
    assert gained == [
        ("correct", "Pacific", True),
        ("correct", "Arctic", True),
        ("incorrect", None, False),
        ("ungraded", None, None),
    ]
    assert graded.counts == {"correct": 2, "incorrect": 1, "ungraded": 1}


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
        assert classify(rollout) == Classification(made["category"], made["category_reason"])


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
def test_a_bad_line_is_named_before_anything_is_graded(tmp_path: Path, plugin: str, line: str, message: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"response": "1", "ground_truth": "0"}\n\n' + line + "\n")
    done = call(tmp_path, "verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    assert not (tmp_path / "graded.log").exists()


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


def test_a_plug_in_that_raises_leaves_the_line_ungraded(tmp_path: Path, plugin: str) -> None:
    write(tmp_path / "in.jsonl", [{"response": "bad", "ground_truth": "0"}, {"response": "good", "ground_truth": 0}])
    classified = call(tmp_path, "classify", f"{plugin}:classify", "in.jsonl", "-o", "out.jsonl")
    assert classified.returncode == 0, classified.stderr
    assert "classifier mine:classify raised ValueError: no such thing" in classified.stderr
    lost, found = read_jsonl(tmp_path / "out.jsonl")
    assert (lost["category"], lost["classified"], lost["category_reason"]) == (
        None,
        False,
        "classifier raised ValueError: no such thing",
    )
    assert found["classified"]
    assert re.search(r"ungraded +1 ", classified.stdout)
    verified = call(tmp_path, "verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl")
    assert verified.returncode == 0, verified.stderr
    assert [row["verdict"] for row in read_jsonl(tmp_path / "out.jsonl")] == ["ungraded", "correct"]


ARGUED = """
def classify(rollout, *, categories, offset=0):
    return categories[offset]

def verify(rollout, *, part):
    return part
"""


def test_a_plug_in_gets_its_arguments_and_other_arguments_start_afresh(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ARGUED)
    source = write(tmp_path / "in.jsonl", [{"response": "a", "ground_truth": "0"}])
    command = ["classify", "mine:classify", "in.jsonl", "-o", "out.jsonl", "--categories", "x,y"]
    for arguments, category in (([], "x"), (["--args", '{"offset": 1}'], "y")):
        done = call(tmp_path, *command, *arguments)
        assert done.returncode == 0, done.stderr
        assert [line["category"] for line in read_jsonl(tmp_path / "out.jsonl")] == [category]
    done = call(tmp_path, "verify", "mine:verify", str(source), "-o", "out.jsonl", "--args", '{"part": 0.25}')
    assert (done.returncode, read_jsonl(tmp_path / "out.jsonl")[0]["correct"]) == (0, 0.25)
    for wrong, said in (
        (["--args", "offset=1"], "arguments 'offset=1': not JSON"),
        (["--args", '{"ofset": 1}'], "mine:classify has no argument 'ofset': it takes categories, offset"),
        (["--args", '{"categories": ["z"]}'], "category 'z' is not declared"),
    ):
        done = call(tmp_path, *command, *wrong)
        assert done.returncode == 2
        assert said in done.stderr
    done = call(tmp_path, "classify", "mine:classify", "in.jsonl", "-o", "out.jsonl")
    assert "needs the argument 'categories': declare them" in done.stderr


def test_a_killed_command_goes_on_where_it_was(tmp_path: Path, plugin: str) -> None:
    """Two chunks: the first is done at once, the second waits until it is killed."""
    rows = [{"response": str(i), "ground_truth": "now" if i < CHUNK else "waits"} for i in range(CHUNK + 2)]
    write(tmp_path / "in.jsonl", rows)
    arguments = ["verify", f"{plugin}:verify", "in.jsonl", "-o", "out.jsonl"]
    with subprocess.Popen([MADRL, *arguments], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL) as running:
        log = tmp_path / "graded.log"
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
    (tmp_path / "go").touch()

    done = call(tmp_path, *arguments)

    assert done.returncode == 0, done.stderr
    assert f"{CHUNK + 2} ({CHUNK} of them by an earlier call)" in done.stdout
    assert log.read_text().split() == [str(CHUNK), str(CHUNK + 1)]
    assert [row["response"] for row in read_jsonl(tmp_path / "out.jsonl")] == [row["response"] for row in rows]
    assert not list(tmp_path.glob(".out*"))


def stopped(folder: Path, command: str = "classify") -> subprocess.CompletedProcess[str]:
    """A call that fails in its second chunk, until there is a file ``mended``."""
    rows = [{"response": "bad" if i >= CHUNK else str(i), "ground_truth": "now"} for i in range(2 * CHUNK)]
    write(folder / "in.jsonl", rows)
    return call(folder, command, f"mine:{command}", "in.jsonl", "-o", "out.jsonl")


@pytest.mark.parametrize("command", ["classify", "verify"])
def test_a_call_that_failed_says_where_it_goes_on_and_goes_on_there(tmp_path: Path, plugin: str, command: str) -> None:
    failed = stopped(tmp_path, command)
    assert failed.returncode == 2
    (partial,) = tmp_path.glob(".*")
    said = failed.stderr.splitlines()[-1]
    assert f"256 of 512 responses are graded in {partial}, where the same call goes on" in said
    assert not (tmp_path / "out.jsonl").exists()
    (tmp_path / "mended").touch()
    done = stopped(tmp_path, command)
    assert "512 (256 of them by an earlier call)" in done.stdout
    assert not list(tmp_path.glob(".*"))


def test_a_call_that_failed_in_its_first_responses_leaves_nothing(tmp_path: Path, plugin: str) -> None:
    write(tmp_path / "in.jsonl", [{"response": "good"}, {"response": "bad"}, {"response": "bad"}])
    failed = call(tmp_path, "classify", "mine:classify", "in.jsonl", "-o", "out.jsonl")
    assert failed.returncode == 2
    assert "classifier mine:classify could not grade 2 of 3 responses (classifier raised ValueError" in failed.stderr
    assert "graded in" not in failed.stderr
    assert set(names(tmp_path)) - {"__pycache__"} == {"helper.py", "in.jsonl", "mine.py"}


@pytest.mark.parametrize("file", ["mine.py", "helper.py"])
def test_code_that_was_edited_since_starts_afresh_and_says_so(tmp_path: Path, plugin: str, file: str) -> None:
    stopped(tmp_path)
    (tmp_path / "mended").touch()
    source = (tmp_path / file).read_text()
    (tmp_path / file).write_text(
        source.replace('str(rollout.extra_info.get("index", ""))', "'new'").replace("exists", "lexists")
    )
    done = stopped(tmp_path)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "out.jsonl"
    assert done.stderr == f"madrl: the code of mine:classify changed since {output} was begun: starting afresh\n"
    assert "responses classified: 512, written" in done.stdout
    if file == "mine.py":
        assert {row["category_reason"] for row in read_jsonl(output)} == {"new"}, "no line of the old code"
    assert not list(tmp_path.glob(".*"))


def test_code_whose_comments_were_edited_goes_on(tmp_path: Path, plugin: str) -> None:
    stopped(tmp_path)
    (tmp_path / "mended").touch()
    (tmp_path / "mine.py").write_text(PLUGIN + "# the end\n")
    done = stopped(tmp_path)
    assert done.stderr == ""
    assert "(256 of them by an earlier call)" in done.stdout


def test_an_unfinished_file_of_another_input_is_removed_with_a_word(tmp_path: Path, plugin: str) -> None:
    stopped(tmp_path)
    other = ".out.jsonl.other-thing.partial"  # not ours
    (tmp_path / other).touch()
    write(tmp_path / "in.jsonl", [{"response": "good"}])
    done = call(tmp_path, "classify", "mine:classify", "in.jsonl", "-o", "out.jsonl")
    assert "the input or the command changed since" in done.stderr
    assert [path.name for path in tmp_path.glob(".*")] == [other]


def test_two_calls_for_one_output_take_no_turns_and_mix_nothing(tmp_path: Path, plugin: str) -> None:
    write(tmp_path / "in.jsonl", [{"response": "a", "ground_truth": "waits"}])
    arguments = ["in.jsonl", "-o", "out.jsonl"]
    with subprocess.Popen([MADRL, "verify", "mine:verify", *arguments], cwd=tmp_path, env=ENVIRONMENT) as first:
        try:
            while not (tmp_path / "graded.log").exists():
                assert first.poll() is None
                time.sleep(0.05)
            for again in (["verify", "mine:verify"], ["classify", "mine:classify"]):
                refused = call(tmp_path, *again, *arguments)
                assert refused.returncode == 2
                assert f"{tmp_path / 'out.jsonl'}: another madrl is writing it" in refused.stderr
        finally:
            (tmp_path / "go").touch()
    assert first.returncode == 0
    assert not list(tmp_path.glob(".*"))


def test_a_verifier_that_raises_on_most_responses_ends_the_command_by_its_name_and_reason(
    tmp_path: Path, plugin: str
) -> None:
    rows = [{"response": text, "ground_truth": "now"} for text in ("bad", "good", "bad")]
    write(tmp_path / "in.jsonl", rows)
    failed = call(tmp_path, "verify", "mine:verify", "in.jsonl", "-o", "out.jsonl")
    assert (failed.returncode, failed.stdout) == (2, "")
    said = failed.stderr.splitlines()[-1]
    assert (
        "verifier mine:verify could not grade 2 of 3 responses (verifier raised ValueError: no such thing): mend that"
        in said
    )
    assert not (tmp_path / "out.jsonl").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_pipe_of_commands_says_what_it_did_on_stderr(tmp_path: Path) -> None:
    source = "".join(json.dumps(line) + "\n" for line in LINES[:3]).encode()
    said = []
    for arguments in (
        ["classify", "choice", "-", "-o", "-"],
        ["verify", "listed_option", "-", "-o", "-"],
        ["rescore", "-", "-o", "-", "--categories", ",".join(f"rank_{i}" for i in range(1, 6)), "--target", "uniform"],
    ):
        done = call(tmp_path, *arguments, stdin=source)
        assert done.returncode == 0, done.stderr
        source = done.stdout.encode()
        said.append(done.stderr.splitlines()[0])
    rows = [json.loads(line) for line in source.splitlines()]
    assert [(row["category"], row["correct"], "reward" in row) for row in rows] == [
        ("rank_4", True, True),
        ("rank_1", True, True),
        (None, False, True),
    ]
    assert said == [
        "responses classified: 3, written to -",
        "responses verified: 3, written to -",
        "responses rescored: 3, groups: 2, written to -",
    ]
    assert names(tmp_path) == []


def test_what_is_wrong_with_standard_input_is_told_by_its_line(tmp_path: Path) -> None:
    done = call(tmp_path, "classify", "choice", "-", "-o", "-", stdin=b'{"response": "a"}\n{')
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input, line 2: not JSON" in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_what_fits_is_resumed(tmp_path: Path, small_disk: Path) -> None:
    line = {"response": "x" * 100, "ground_truth": OPTIONS, "correct": None, "category": None}
    rows = [line | {"group": str(i % 9)} for i in range(CHUNK * 3)]
    source, output = write(tmp_path / "in.jsonl", rows), small_disk / "out.jsonl"
    classify = ["classify", "choice", str(source), "-o", str(output)]
    full = call(tmp_path, *classify)
    assert full.returncode == 2
    (partial,) = small_disk.iterdir()
    (said,) = full.stderr.splitlines()
    assert f"cannot write {partial}: no space left on the disk: free some" in said
    assert "responses are graded in" in said
    rescored = call(tmp_path, "rescore", str(source), "-o", str(output), "--categories", "a,b", "--target", "uniform")
    assert rescored.returncode == 2
    assert f"madrl: error: cannot write {output}: no space left on the disk" in rescored.stderr
    assert list(small_disk.iterdir()) == [partial], "nothing half is left"
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    done = call(tmp_path, *classify)
    assert done.returncode == 0, done.stderr
    assert "by an earlier call" in done.stdout
    assert [row["response"] for row in read_jsonl(output)] == [row["response"] for row in rows]


def test_a_full_disk_behind_standard_output_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", LINES[:3])
    floor = ["floor", "--target", "uniform", "--categories", "3", "--samples", "9"]
    for arguments in (["classify", "choice", "in.jsonl", "-o", "-"], floor):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [MADRL, *arguments], cwd=tmp_path, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith(b"madrl: error: output: no space left on the disk")
        assert b"Traceback" not in done.stderr


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    command = [MADRL, "floor", "--target", "uniform", "--categories", "2000", "--samples", "9"]
    limit = 1 << 30  # of addresses; the drawn counts alone are 1.6 GB

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    environment = ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, preexec_fn=limited, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("madrl: error: not enough memory (Unable to allocate")


FAILS_ON_THE_LAST = """
def verify(rollout):
    if rollout.response == "the last":
        raise KeyError("score")
    return True
"""


def test_a_verifier_that_fails_on_a_few_rows_ends_wherever_in_the_file_they_are(tmp_path: Path) -> None:
    """Also on the only row of the last chunk, in a call that went on after it."""
    (tmp_path / "mine.py").write_text(FAILS_ON_THE_LAST)
    rows = [{"response": "a", "ground_truth": "a"}] * CHUNK + [{"response": "the last", "ground_truth": "a"}]
    source = write(tmp_path / "in.jsonl", rows)
    done = call(tmp_path, "verify", "mine:verify", str(source), "-o", str(tmp_path / "out.jsonl"))
    assert done.returncode == 0, done.stderr
    last = read_jsonl(tmp_path / "out.jsonl")[-1]
    assert last["correct"] is None
    assert "KeyError" in last["reason"]


def test_a_plug_in_that_cannot_be_imported_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def verify(:\n")
    source = write(tmp_path / "in.jsonl", [{"response": "a", "ground_truth": "a"}])
    done = call(tmp_path, "verify", "broken:verify", str(source), "-o", str(tmp_path / "out.jsonl"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "cannot import 'broken' (SyntaxError: " in done.stderr


def test_references_that_nobody_can_read_are_findings_and_stop_no_file(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"response": "x", "ground_truth": ""}\n', encoding="utf-8")
    graded = verify_file(source, tmp_path / "out.jsonl", "exact_match")
    assert graded.counts == {"ungraded": 1}
