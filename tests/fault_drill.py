"""A fault drill: SIGKILL to each process of a real run in each phase of a step, and what a user sees of it.

    python tests/fault_drill.py [ROW ...]            all rows that are not in docs/fault_drill/rows.jsonl yet, or these
    python tests/fault_drill.py --list               the rows by name
    python tests/fault_drill.py --write              puts the table into docs/fault_drill.md

A row is a process and the phase in which it dies, such as "vLLM engine, generation". The run stands still in the phase
(tests/trainer/held_phases.py), the process is killed, the rest goes on. Either the run recovers by itself, or it ends:
then the same command is called again. In both cases the row is done when the step of the kill and the one after it
have been trained, and all steps since the checkpoint are compared with those of a run that nobody disturbed. The run
goes on from there as that of the next row, so that a row costs one start. Each row is written down at once; the drill
can be stopped and called again at any time. --work FOLDER keeps both runs.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS.parent), str(TESTS / "trainer")]

from madrl.errors import MadrlError  # noqa: E402
from madrl.files import locked, read_jsonl, replacing  # noqa: E402
from madrl.run_folder import RunFolder  # noqa: E402

if TYPE_CHECKING:
    from real_runs import Trainings

ROWS = TESTS.parent / "docs" / "fault_drill" / "rows.jsonl"
PAGE = TESTS.parent / "docs" / "fault_drill.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

PROCESSES = {
    "launcher": "madrl.cli train",
    "veRL's main": "verl.trainer.main_ppo",
    "task runner": "ray::.*TaskRunner",
    "FSDP worker": "ray::.*WorkerDict",
    "vLLM server": "ray::.*vLLMHttpServer",
    "vLLM engine": "VLLM::EngineCore",
    "vLLM worker": "VLLM::Worker",
    "agent-loop worker": "ray::.*(HeldWorker|AgentLoopWorker)",
    "reward worker": "ray::.*RewardLoopWorker",
    "queue's controller": "ray::.*TransferQueueController",
    "queue's storage": "ray::.*SimpleStorageUnit",
    "Ray's raylet": "/raylet/raylet ",
    "Ray's GCS": "/gcs_server ",
}
"""A process -> a pattern of its command line. The replay buffer lives in the task runner."""

CHECKPOINT_EVERY, VALIDATE_EVERY = 2, 4
LIMIT_S = 1500.0
"""How long a start may take."""
MAX_IDLE_S, HANGS_AFTER_S = 300, 600.0
"""When a step without progress ends by itself; and when a run that neither goes on nor ends is said to hang."""
FOR_EVER = float("inf")
LEFT_AFTER_S = 60.0
"""How long after the end of a run its processes may take to end."""
STEPS_A_ROW, MOST_AHEAD = 4, 40
"""How many steps a row takes, about; and how many the undisturbed run trains at most before they are needed."""
COMPARED = ("mad/jsd", "mad/reward/mean", "actor/grad_norm")

CHANGES = (
    "madrl.classifier=held_phases:classify",
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=held_phases.HeldManager",
    "actor_rollout_ref.model.external_lib=held_engine",
    # As on GPUs, where an engine's worker is a process of its own.
    "actor_rollout_ref.rollout.engine_kwargs.vllm.distributed_executor_backend=mp",
    # So that steps do not depend on how many there are in all.
    "actor_rollout_ref.actor.optim.lr_scheduler_type=constant",
    "trainer.val_before_train=False",
    f"trainer.save_freq={CHECKPOINT_EVERY}",
    f"trainer.test_freq={VALIDATE_EVERY}",
    f"madrl.max_idle_s={MAX_IDLE_S}",
    "madrl.max_ungraded_rate=0.2",
)


class Row(NamedTuple):
    process: str
    phase: str

    def __str__(self) -> str:
        return f"{self.process}, {self.phase}"


def rows() -> list[Row]:
    """In the order in which they matter."""
    trainers = ("FSDP worker", "task runner", "veRL's main", "launcher", "Ray's raylet", "queue's controller")
    wanted = [Row(process, "generation") for process in PROCESSES]
    wanted += [Row(process, "judging") for process in ("reward worker", "agent-loop worker", "vLLM engine")]
    wanted += [Row(process, phase) for phase in ("checkpoint", "update") for process in trainers]
    wanted += [
        Row(process, "validation")
        for process in ("vLLM engine", "agent-loop worker", "reward worker", "task runner", "FSDP worker", "launcher")
    ]
    wanted += [
        Row(process, phase) for phase in ("update", "checkpoint") for process in ("vLLM engine", "reward worker")
    ]
    return wanted


class Running:
    """One attempt of a run: its launcher, and the processes that came from it."""

    def __init__(
        self, trainings: "Trainings", name: str, steps: int, hold: Path, changes: Sequence[str] = CHANGES
    ) -> None:
        self.run = RunFolder(trainings.folder / name)
        self.said = trainings.folder / f"{name}.stderr"
        command = trainings.command(name, *changes, f"trainer.total_training_steps={steps}")
        environment = trainings.environment(name) | {"HOLD_FOLDER": str(hold)}
        with self.said.open("w") as file:
            self.launcher = subprocess.Popen(
                command, cwd=trainings.folder, env=environment, stdout=subprocess.DEVNULL, stderr=file
            )
        self.began = time.monotonic()

    def step(self) -> int:
        """The last step whose metrics are written."""
        return max(self.run.history(), default=0)

    def processes(self) -> dict[psutil.Process, str]:
        """Each living process of the run -> its command line."""
        found = {}
        with suppress(psutil.Error):
            launcher = psutil.Process(self.launcher.pid)
            for process in (launcher, *launcher.children(recursive=True)):
                with suppress(psutil.Error):
                    found[process] = " ".join(process.cmdline())
        return found

    def wait_for(self, found: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
        """Wait until ``found`` or the end of the launcher; whether it was found. Raises TimeoutError after a while."""
        deadline = time.monotonic() + limit_s
        while True:
            ended = self.launcher.poll() is not None
            if found():
                return True
            if ended:
                return False
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.run.root} neither goes on nor ends")
            time.sleep(0.25)  # each look reads all metrics

    def last_words(self) -> str:
        """What the launcher says last, with RUN for the run's folder."""
        lines = [line for line in self.said.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip().replace(str(self.run.root), "RUN") if lines else ""

    def stop(self) -> None:
        """As Ctrl-C or a scheduler does."""
        if self.launcher.poll() is None:
            self.launcher.send_signal(signal.SIGTERM)
            self.launcher.wait(LIMIT_S)


def living(processes: Mapping[psutil.Process, str]) -> dict[psutil.Process, str]:
    """Those that still run."""
    found = {}
    for process, line in processes.items():
        with suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found[process] = line
    return found


def wait_for_lock(run: RunFolder) -> None:
    """A process that is just ending has no command line any more, and may still hold the lock."""
    while True:
        with suppress(MadrlError), locked(run.lock, ""):
            return
        time.sleep(0.1)


def is_a(name: str, line: str) -> bool:
    """Whether a process with this command line is what the table calls so."""
    return re.search(PROCESSES[name], line) is not None


def name_of(line: str) -> str:
    """What the table calls a process with this command line."""
    # An actor's title has the method that it is in.
    own = re.sub(r"^(ray::\w+)\..*", r"\1", line.split(" ")[0].rpartition("/")[2])
    return next((name for name in PROCESSES if is_a(name, line)), own[:40])


class Drill:
    """The disturbed run, whatever attempt it is in, and the undisturbed one that it is compared with."""

    def __init__(self, folder: Path, ahead: int) -> None:
        from real_runs import Trainings

        self.trainings = Trainings(folder)
        self.ahead = ahead
        self.hold = folder / "hold"
        shutil.rmtree(self.hold, ignore_errors=True)
        self.hold.mkdir()
        self.now: Running | None = None
        """The run that is trained now: one at a time."""

    def expected(self, upto: int) -> dict[int, dict[str, float]]:
        """The steps of the undisturbed run, which is trained as far as they are needed."""
        run = RunFolder(self.trainings.folder / "undisturbed")
        if max(run.history(), default=0) < upto:
            self.close()
            self.now = reference = Running(self.trainings, "undisturbed", upto + self.ahead, self.hold)
            reference.wait_for(lambda: False, FOR_EVER)
            if reference.launcher.returncode:
                raise RuntimeError(f"the undisturbed run failed: {reference.last_words()}")
        return run.history()

    def running(self) -> Running:
        """The disturbed run, started if it does not run."""
        if self.now is None or self.now.launcher.poll() is not None:
            self.now = Running(self.trainings, "drilled", 1000, self.hold)
        return self.now

    def close(self) -> None:
        if self.now is not None:
            self.now.stop()
            self.now = None

    def go(self, row: Row) -> dict[str, Any]:
        """Kill the process in the phase; what came of it."""
        running = self.running()
        before = running.step()
        trained = running.run.checkpoint_step()
        if not running.wait_for(lambda: running.step() > max(before, trained)):
            raise RuntimeError(f"the run does not start: {running.last_words()}")
        wish, reached = self.hold / row.phase, self.hold / f"{row.phase}.reached"
        reached.unlink(missing_ok=True)
        wish.touch()
        if not running.wait_for(lambda: reached.exists() and reached.read_text() != ""):
            raise RuntimeError(f"the run ends before its {row.phase}: {running.last_words()}")
        step, checkpoint, everyone = running.step() + 1, running.run.checkpoint_step(), running.processes()
        victims = [process for process, line in everyone.items() if is_a(row.process, line)]
        if not victims:
            raise RuntimeError(f"the run has no process {row.process!r} among {sorted(everyone.values())}")
        held = int(reached.read_text())
        victim = next((process for process in victims if process.pid == held), victims[0])
        killed_at = time.monotonic()
        victim.kill()
        wish.unlink()
        found: dict[str, Any] = {"process": row.process, "phase": row.phase, "step": step, "checkpoint": checkpoint}
        if row.process == "launcher":
            running.launcher.wait()
            found |= self._without_launcher(running, everyone, step)
        else:
            try:
                recovered = running.wait_for(lambda: running.step() > step, HANGS_AFTER_S)
                found["outcome"] = "goes on" if recovered else "stops"
            except TimeoutError:
                found["outcome"] = "hangs"
                running.stop()
            found["seconds"] = round(time.monotonic() - killed_at, 1)
            found["line"] = "" if found["outcome"] == "goes on" else running.last_words()
        if found["outcome"] != "goes on":
            found |= self._left(everyone)
            # What was killed alone may have let the step end, and its checkpoint be written.
            checkpoint = found["checkpoint"] = running.run.checkpoint_step()
            resumed = self.running()
            try:
                done = resumed.wait_for(lambda: resumed.step() > step)
            except TimeoutError:
                done = False
            if not done:
                resumed.stop()
                return found | {"resumes": False, "resume_line": resumed.last_words()}
            found["resume_seconds"] = round(time.monotonic() - resumed.began, 1)
        return found | {"resumes": True, "kept": self._kept(min(checkpoint, step) + 1, step + 1)}

    def _without_launcher(self, running: Running, everyone: Mapping[psutil.Process, str], step: int) -> dict[str, Any]:
        """Whether what it has started goes on; what a second start says meanwhile; then the rest is ended."""
        began = time.monotonic()
        while running.step() <= step and time.monotonic() < began + LIMIT_S and living(everyone):
            time.sleep(0.1)
        if running.step() <= step:
            return {"outcome": "stops", "seconds": round(time.monotonic() - began, 1), "line": ""}
        second = Running(self.trainings, "drilled", 1000, self.hold)
        second.launcher.wait(LIMIT_S)
        found = {"outcome": "goes on without it", "seconds": round(time.monotonic() - began, 1)}
        found["line"] = second.last_words()
        for process, line in living(everyone).items():
            if is_a("veRL's main", line):
                process.send_signal(signal.SIGINT)
        return found

    def _left(self, everyone: Mapping[psutil.Process, str]) -> dict[str, Any]:
        """What is left of the run's processes a while after its end. All of it is ended then."""
        run = RunFolder(self.trainings.folder / "drilled")
        began = time.monotonic()
        while (left := living(everyone)) and time.monotonic() < began + LEFT_AFTER_S:
            time.sleep(0.2)
        seconds = time.monotonic() - began
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        wait_for_lock(run)
        return {"left": sorted({name_of(line) for line in left.values()}), "left_seconds": round(seconds, 1)}

    def _kept(self, first: int, last: int) -> dict[str, Any]:
        """How far the steps are from those of the undisturbed run: the largest relative difference of a metric."""
        run = RunFolder(self.trainings.folder / "drilled")
        expected = self.expected(last)
        worst = 0.0
        for step in range(first, last + 1):
            for name in COMPARED:
                found, wanted = run.history()[step][name], expected[step][name]
                worst = max(worst, abs(found - wanted) / max(abs(wanted), 1e-3))
        return {"steps": [first, last], "largest_difference": float(f"{worst:.2g}")}


def written(path: Path = ROWS) -> dict[str, dict[str, Any]]:
    """Row -> what came of it, the last time that it was tried."""
    found = read_jsonl(path) if path.exists() else []
    return {str(Row(record["process"], record["phase"])): record for record in found}


def write_down(record: Mapping[str, Any], path: Path = ROWS) -> None:
    """Add the row, or put it in the place of an earlier try."""
    found = written(path) | {str(Row(record["process"], record["phase"])): record}
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as unfinished:
        unfinished.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found.values()))


def table(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The lines of the table, in Markdown."""
    yield "| killed | while | what happens | after | resumes, and the numbers | what is left of it |\n"
    yield "| :-- | :-- | :-- | --: | :-- | :-- |\n"
    for row in rows():
        record = found.get(str(row))
        if record is None:
            continue
        says = f"{record['outcome']}: `{shortened(record['line'])}`" if record.get("line") else record["outcome"]
        goes_on = {"goes on": "", "goes on without it": "all of it"}
        left = goes_on.get(record["outcome"], ", ".join(record.get("left", [])) or "nothing")
        cells = (row.process, row.phase, says, f"{record['seconds']:.0f} s", numbers(record), left)
        yield "| " + " | ".join(cells) + " |\n"


def shortened(line: str, most: int = 260) -> str:
    """A line for a table's cell."""
    line = line.replace("|", "¦").replace("`", "'")
    return line if len(line) <= most else f"{line[:most]}…"


def numbers(record: Mapping[str, Any]) -> str:
    if not record["resumes"]:
        return f"no: `{shortened(record['resume_line'])}`"
    kept, begins = record["kept"], "" if record["outcome"] == "goes on" else f"yes, from step {record['checkpoint']}: "
    first, last = kept["steps"]
    difference = kept["largest_difference"]
    same = "the same" if difference <= 1e-4 else f"{difference:.0e} apart"
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    return f"{begins}{steps} {same}"


@contextmanager
def work_folder(named: str | None) -> Iterator[Path]:
    if named is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named).absolute()


def drill(wanted: Sequence[Row], folder: Path) -> None:
    """Try the rows, one after another, and write each down."""
    found = Drill(folder, min(STEPS_A_ROW * len(wanted), MOST_AHEAD))
    try:
        found.expected(max(RunFolder(folder / "drilled").history(), default=0) + STEPS_A_ROW)
        for row in wanted:
            print(f"{row} ...", flush=True)
            record = found.go(row)
            write_down(record)
            print(json.dumps(record), flush=True)
    finally:
        found.close()


def write_page() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    with replacing(PAGE) as unfinished:
        text = f"{before}{BEGIN}\n\n{''.join(table(written()))}\n{END}{after}"
        unfinished.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these, again if need be")
    parser.add_argument("--list", action="store_true", help="print the rows and what is known of them")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--work", metavar="FOLDER", help="keep the runs there, for the next call")
    args = parser.parse_args()
    names = {str(row): row for row in rows()}
    if unknown := sorted({*args.rows} - {*names}):
        parser.error(f"{unknown[0]!r} is none of {', '.join(map(repr, names))}")
    if args.list:
        for name in names:
            print(f"{name}: {written().get(name, {}).get('outcome', 'not tried yet')}")
    elif args.write:
        write_page()
    else:
        os.environ.pop("MADRL_SANDBOX_URLS", None)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the run is stopped too
        wanted = [names[name] for name in args.rows] or [row for name, row in names.items() if name not in written()]
        with work_folder(args.work) as folder:
            drill(wanted, folder)


if __name__ == "__main__":
    main()
