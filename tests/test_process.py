"""Processes that are started, logged and ended whatever happens, and values on their way into Hydra."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from madrl import process
from madrl.errors import MadrlError
from madrl.failures import last_error
from madrl.process import CPU_ENVIRONMENT, hydra_value, run_logged

DEADLINE_S = 300.0


LEAVES_ONE_BEHIND = """
import os, signal, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)  # as Ray does with its workers: the group's end is not its own
    if sys.argv[2] == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(sys.argv[1] + ".unfinished", "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1] + ".unfinished", sys.argv[1])
    signal.pause()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("kind", ["obedient", "stubborn"])
def test_nothing_of_a_run_outlives_it(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LEFT_PATIENCE_S", 0.5)
    run_logged([sys.executable, "-c", LEAVES_ONE_BEHIND, str(tmp_path / "pid"), kind], tmp_path / "log", {}, cpu=True)
    left = (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 60  # SIGKILL takes its moment
    while lives(left):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_failing_trainer_is_one_error_with_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("an older attempt\n")
    with pytest.raises(MadrlError, match=r"exit code 3: the end of .*train.log is above"):
        run_logged(["sh", "-c", "echo out of memory; exit 3"], log, {}, cpu=True)
    shown = capsys.readouterr().err
    assert "out of memory" in shown
    assert "older attempt" not in shown


def test_a_trainer_that_was_killed_is_told_by_its_signal_and_by_no_line_of_its_log(tmp_path: Path) -> None:
    code = "echo KeyError: handled long ago; kill -9 $$"
    with pytest.raises(MadrlError, match=r"^veRL's main process was ended by signal 9 \(Killed\); with 9 the kernel"):
        run_logged(["sh", "-c", code], tmp_path / "train.log", {}, cpu=True)


def test_what_our_plug_ins_mean_for_the_user_is_the_whole_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "from madrl.errors import MadrlError; raise MadrlError('launch check: start from another model')"
    with pytest.raises(MadrlError, match=r"^launch check: start from another model$"):
        run_logged([sys.executable, "-c", code], tmp_path / "train.log", {}, cpu=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ValueError: no room", "ValueError: no room"),
        ("\x1b[36m(TaskRunnerV1 pid=205)\x1b[0m ValueError: no room", "ValueError: no room"),
        (
            "\x1b[36m(WorkerDict pid=7, ip=10.0.0.2)\x1b[0m torch.OutOfMemoryError: 4 GiB",
            "torch.OutOfMemoryError: 4 GiB",
        ),
        ("loss 0.3", None),
        ('UserWarning: an engine is not available: ModuleNotFoundError("No module")', None),
        ("(pid=53) ValueError: no room", "ValueError: no room"),
    ],
)
def test_the_reason_of_a_failure_is_the_last_exception_in_the_log(line: str, reason: str | None) -> None:
    assert last_error(["KeyError: handled before" if reason else "step 1", line, "  at exit"]) == reason


def test_sigterm_ends_the_trainer_and_everything_it_started(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from madrl.process import run_logged
run_logged(["sh", "-c", "sleep 1000 & echo $! > {tmp_path}/pid; wait"], Path({str(tmp_path)!r}) / "log", {{}}, cpu=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    pid_file = tmp_path / "pid"
    while not pid_file.exists() or not pid_file.read_text().strip():
        time.sleep(0.05)
    process.terminate()
    assert process.wait(DEADLINE_S) == 128 + signal.SIGTERM
    deadline = time.monotonic() + DEADLINE_S
    while lives(pid_file.read_text().strip()):
        assert time.monotonic() < deadline, "a grandchild is still alive"
        time.sleep(0.1)


def test_a_second_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    # The child takes its time to end, as Ray does, until it is told to.
    script = f"trap 'touch {tmp_path}/asked; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; exit' INT; "
    script += f"sleep 1000 & echo $! > {tmp_path}/pid; while :; do sleep 0.05; done"
    code = f"""
from pathlib import Path
from madrl.process import run_logged
run_logged(["bash", "-c", {script!r}], Path({str(tmp_path)!r}) / "log", {{}}, cpu=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    for name in ("pid", "asked"):
        while not (tmp_path / name).exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    (tmp_path / "go").touch()
    assert process.wait(DEADLINE_S) == -signal.SIGINT
    deadline = time.monotonic() + DEADLINE_S
    while lives((tmp_path / "pid").read_text().strip()):
        assert time.monotonic() < deadline, "a grandchild is still alive"
        time.sleep(0.1)


def lives(pid: str) -> bool:
    try:
        return "Z (" not in (Path("/proc") / pid / "status").read_text()
    except OSError:  # it may go between any two looks
        return False


@pytest.mark.parametrize(("told", "status"), [("SIGTERM", 128 + signal.SIGTERM), ("SIGINT", -signal.SIGINT)])
def test_a_signal_that_comes_while_the_trainer_is_started_ends_it_as_well(
    told: str, status: int, tmp_path: Path
) -> None:
    code = f"""
import os, signal, subprocess
from pathlib import Path
from madrl import process

class Told(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        Path({str(tmp_path)!r}, "pid").write_text(str(self.pid))
        os.kill(os.getpid(), signal.{told})

process.subprocess.Popen = Told
process.run_logged(["sleep", "1000"], Path({str(tmp_path)!r}) / "log", {{}}, cpu=True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL)
    assert done.returncode == status
    assert not lives((tmp_path / "pid").read_text())


def test_a_ctrl_c_that_a_background_job_ignores_means_nothing_to_it_and_still_ends_its_trainer(tmp_path: Path) -> None:
    code = f"""
import os, signal, sys
from pathlib import Path
from madrl import process

signal.signal(signal.SIGINT, signal.SIG_IGN)
log = Path({str(tmp_path)!r}) / "log"
with process.told_to_stop(signal.SIGINT) as told:
    os.kill(os.getpid(), signal.SIGINT)
assert not told
process.run_logged(["sleep", "0"], log, {{}}, cpu=True, on_poll=lambda: os.kill(os.getpid(), signal.SIGINT))
trainer = [sys.executable, "-c", "import signal; signal.raise_signal(signal.SIGINT)"]
process.run_logged(trainer, log, {{}}, cpu=True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "ended by signal 2 (Interrupt)" in done.stderr
    assert "KeyboardInterrupt" in (tmp_path / "log").read_text()


def test_the_cpu_environment_is_set_for_a_cpu_and_not_for_a_gpu(tmp_path: Path) -> None:
    for cpu, expected in ((True, CPU_ENVIRONMENT["VERL_PLATFORM"]), (False, "unset")):
        log = tmp_path / f"{cpu}.log"
        run_logged(["sh", "-c", "echo ${VERL_PLATFORM:-unset}"], log, {}, cpu=cpu)
        assert log.read_text().strip() == expected


@pytest.mark.parametrize(
    "value", ["/a b/(1)", "a=b,c", "it's", "back\\slash", "end\\", "two\\\\", "a\\'b", "a\\\\'", "", "हिन्दी"]
)
def test_any_path_or_token_survives_a_hydra_override(value: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_override(f"key={hydra_value(value)}")
    assert parsed.value() == value


def test_lists_booleans_and_numbers_keep_their_type_in_a_hydra_override() -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    for value in (["console", "a b"], True, 3, 0.5):
        assert OverridesParser.create().parse_override(f"key={hydra_value(value)}").value() == value
