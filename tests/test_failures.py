"""Why a run failed, told from the logs of real runs whose processes were killed (tests/golden/failures)."""

import shlex
import sys
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.failures import OVERSEER_ENDS, failure_of, last_error
from madrl.process import OWN_ERROR, run_logged

LOGS = Path(__file__).parent / "golden" / "failures"
ENGINE_KILLED, TRAINER_KILLED = LOGS / "engine_killed.log", LOGS / "trainer_killed.log"
ENGINE_LINE = "WARNING 11-24 21:38:48 [core_client.py:725] [shutdown] MPClient: engine core exited unexpectedly"


def lines_of(log: Path) -> list[str]:
    return log.read_bytes().decode().split("\n")  # a progress bar has carriage returns


def test_an_engine_that_was_killed_is_the_cause_and_not_what_verl_makes_of_it() -> None:
    lines = lines_of(ENGINE_KILLED)
    assert "Enable trainer.v1.sampler.sync_refill_failed_groups" in str(last_error(lines))
    failure = failure_of(lines)
    assert failure is not None
    assert failure.meaning.startswith("the rollout engine's process died: it was killed")
    assert failure.line.startswith(ENGINE_LINE)
    assert failure.line in lines[failure.place]


def test_a_training_worker_that_was_killed_is_the_cause_with_the_line_that_says_which() -> None:
    lines = lines_of(TRAINER_KILLED)
    failure = failure_of(lines)
    assert failure is not None
    assert failure.meaning.startswith("a process of the run died (class_name says which): it was killed")
    assert failure.line == "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
    assert "WorkerDict" in lines[failure.place + 1]


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        (
            "\x1b[33m(raylet)\x1b[0m Raylet is terminated. Termination is unexpected. Possible reasons include: (1) "
            "SIGKILL by the user or system OOM killer, (2) Invalid memory access from Raylet causing SIGSEGV or SIGBUS",
            "Ray's raylet, its process on a node, died",
        ),
        (
            "[2026-11-25 18:10:10,094 E 6503 6678] rpc_client.h:204: Failed to connect to GCS within 60 seconds. GCS "
            "may have been killed. It's either GCS is terminated by `ray stop` or is killed unexpectedly.",
            "Ray's GCS, which holds its cluster together, died",
        ),
        (
            f"{OVERSEER_ENDS}: train step 12: TransferQueueController died, and the responses that it had will never",
            "a process died without which the run would wait for ever",
        ),
    ],
    ids=["raylet", "GCS", "overseer"],
)
def test_a_death_of_ray_s_own_processes_or_of_the_queue_is_the_cause_of_an_engine_s(line: str, meaning: str) -> None:
    failure = failure_of([ENGINE_LINE, line, "ray.exceptions.ActorDiedError: The actor died unexpectedly"])
    assert failure is not None
    assert failure.meaning.startswith(meaning)
    assert failure.place == 1


def test_a_death_that_the_run_has_survived_is_no_cause() -> None:
    survived = "\x1b[36m(TaskRunnerV1 pid=205)\x1b[0m ray.exceptions.ActorDiedError: The actor died unexpectedly"
    assert failure_of([survived, "ValueError: no room"]) is None


def test_a_log_that_tells_no_cause_has_none() -> None:
    assert failure_of(["step:1 - mad/jsd:0.3", "ValueError: no room", ""]) is None


def test_a_run_that_failed_names_the_cause_and_its_line_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("an older attempt\nEngineDeadError\n")
    with pytest.raises(MadrlError) as raised:
        run_logged(["sh", "-c", f"cat {shlex.quote(str(ENGINE_KILLED))}; exit 1"], log, {}, cpu=True)
    said = str(raised.value)
    number = lines_of(log).index(next(line for line in lines_of(log) if ENGINE_LINE in line)) + 1
    assert number > 2
    assert f"(line {number} of {log}: {ENGINE_LINE}" in said
    assert "the same command goes on" in said
    assert "sync_refill" not in said + capsys.readouterr().err


def test_an_error_of_ours_that_an_engine_s_death_led_to_says_so(tmp_path: Path) -> None:
    death = f"(vLLMHttpServer pid=7) {ENGINE_LINE}"
    own = f"{OWN_ERROR}60% of a step is ungraded"
    log, code = tmp_path / "train.log", "import sys; print(*sys.argv[1:], sep=chr(10)); sys.exit(1)"
    with pytest.raises(MadrlError, match=rf"^60% of a step is ungraded \(before that: line 1 of {log}: WARNING"):
        run_logged([sys.executable, "-c", code, death, own], log, {}, cpu=True)
    log.unlink()
    with pytest.raises(MadrlError, match=r"^60% of a step is ungraded$"):  # an engine that ends with its run
        run_logged([sys.executable, "-c", code, own, death, own], log, {}, cpu=True)
