"""Real trainings of a tiny random model, as a user would call them: the unmodified veRL trainer with vLLM, FSDP2 and
Ray on this machine's CPU, with plug-ins of tests/trainer in it. The runs that several files of tests look at are
fixtures of the whole session, because a start takes longer than the steps."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.files import locked, read_jsonl
from madrl.records import read
from madrl.run_folder import RunFolder

REPOSITORY = Path(__file__).parents[1]
PLUGINS = REPOSITORY / "tests" / "trainer"
PYTHONPATH = f"{PLUGINS}:{REPOSITORY}"
STEPS, PROMPTS, GROUP = 4, 4, 4
CHECKPOINT = 2
START_TIMEOUT_S = 1500


class Trainings:
    """Starts runs of one configuration on data and a model made once."""

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        from madrl.miniature.model import build_model, build_tokenizer, save

        self.folder = folder
        self.data, self.model = folder / "data", folder / "model"
        command = [sys.executable, "-m", "data_prep.synthetic", "--local_save_dir", str(self.data), "--form", "closed"]
        subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
        prompts = [row["prompt"][0]["content"] for row in pq.read_table(self.data / "train.parquet").to_pylist()]
        tokenizer = build_tokenizer(prompts, 800)
        save(tokenizer, build_model(tokenizer, hidden_size=32, layers=1, seed=0), self.model)

    def command(self, name: str, *changes: str) -> list[str]:
        """What a user would call."""
        overrides = {
            "task": "synthetic_closed",
            "profile": "tiny",
            "madrl.target": "peak",
            "madrl.classifier": "plugins_under_test:classify_by_checksum",
            "madrl.verifier": "compute_score",
            "madrl.reward.alpha": 0.5,
            "reward.custom_reward_function.path": PLUGINS / "plugins_under_test.py",
            "reward.custom_reward_function.name": "score_by_checksum",
            "+reward.custom_reward_function.reward_kwargs.parts": 4,
            "madrl.max_ungraded_rate": 0.5,
            "trainer.experiment_name": name,
            "paths.run": self.folder / name,
            "paths.data": self.data,
            "paths.model": self.model,
            "data.val_files": self.data / "validation.parquet",
            "data.val_max_samples": 8,
            "data.train_batch_size": PROMPTS,
            "actor_rollout_ref.rollout.n": GROUP,
            "actor_rollout_ref.rollout.val_kwargs.n": 2,
            "actor_rollout_ref.rollout.agent.num_workers": 2,
            "actor_rollout_ref.rollout.agent.agent_loop_manager_class": "plugins_under_test.FlakyManager",
            "reward.num_workers": 2,
            # Recomputed, so that the trainer's probabilities can be compared with the engine's.
            "algorithm.rollout_correction.bypass_mode": False,
            "trainer.total_training_steps": STEPS,
            "trainer.save_freq": CHECKPOINT,
            "trainer.test_freq": STEPS,
        }
        words = (f"{key}={value}" for key, value in overrides.items())
        return [sys.executable, "-m", "madrl.cli", "train", *words, *changes]

    def environment(self, name: str) -> dict[str, str]:
        """Of the run's processes. HOLD_FOLDER is what ``held_phases`` looks into, where somebody makes it."""
        return os.environ | {
            "PYTHONPATH": PYTHONPATH,
            "CLASSIFIER_PIDS": str(self.folder / f"{name}.pids"),
            "HOLD_FOLDER": str(self.folder / f"{name}.held"),
        }

    def start(self, name: str, *changes: str, **variables: str) -> subprocess.Popen[str]:
        environment = self.environment(name) | variables
        return subprocess.Popen(
            self.command(name, *changes), cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True
        )

    def run(self, name: str, *changes: str, **variables: str) -> RunFolder:
        """Train to the end."""
        process = self.start(name, *changes, **variables)
        _, errors = process.communicate(timeout=START_TIMEOUT_S)
        assert process.returncode == 0, errors
        return RunFolder(self.folder / name)


HINTS = (
    "madrl.hints=2",  # one, in groups of four
    "madrl.naming=plugins_under_test:ask_for_rank",
    "madrl.classifier=plugins_under_test:classify_without_the_last",
    "trainer.v1.sampler.custom_sampler.path=pkg://plugins_under_test",
    "trainer.v1.sampler.custom_sampler.name=WatchedBuffer",
)
"""What ``undisturbed`` and those that are compared with it have beside the common configuration."""


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    return Trainings(tmp_path_factory.mktemp("trainings"))


@pytest.fixture(scope="session")
def undisturbed(trainings: Trainings) -> RunFolder:
    """Four steps with hints, a session that raises, two reward workers and two agent workers."""
    return trainings.run("undisturbed", *HINTS)


@pytest.fixture(scope="session")
def resumed(trainings: Trainings) -> RunFolder:
    """The same, to be of one step less at first, killed after its checkpoint with everything that it had started, and
    run again. Every change is tested with this run; ``undisturbed``, one more start, is for nightly tests alone."""
    wish = Path(trainings.environment("resumed")["HOLD_FOLDER"]) / "generation"
    wish.parent.mkdir()
    wish.write_text(str(CHECKPOINT + 1))
    process = trainings.start("resumed", *HINTS, f"trainer.total_training_steps={STEPS - 1}")
    run = RunFolder(trainings.folder / "resumed")
    deadline = time.monotonic() + START_TIMEOUT_S
    while not checkpointed(run):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "no checkpoint in time"
        time.sleep(0.05)
    kill(process, run)
    wish.unlink()
    assert max(run.history()) == CHECKPOINT
    while processes_of(run) or is_locked(run):  # Ray's own processes end when the driver is gone
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return trainings.run("resumed", *HINTS)


def kill(process: "subprocess.Popen[str]", run: RunFolder) -> None:
    """SIGKILL to the launcher and to every process that has the run's folder in its command line."""
    process.kill()
    for pid in processes_of(run):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()


def checkpointed(run: RunFolder) -> bool:
    """Whether nothing of the step with the checkpoint is still to be written: its metrics and dumps come after it."""
    dump = run.rollouts / f"{CHECKPOINT}.jsonl"
    with contextlib.suppress(MadrlError):  # veRL has just opened a file
        if run.checkpoint_step() == CHECKPOINT in run.history() and dump.exists():
            return len(read_jsonl(dump)) == PROMPTS * GROUP
    return False


def is_locked(run: RunFolder) -> bool:
    """A process that is just ending has no command line any more, and may still hold the lock."""
    try:
        with locked(run.lock, ""):
            return False
    except MadrlError:
        return True


def processes_of(run: RunFolder) -> list[int]:
    """The processes that have the run's folder in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(run.root).encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def groups_at(run: RunFolder, step: int) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_jsonl(run.scores / f"{step}.jsonl"):
        groups[record["group"]].append(record)
    return groups


def responses_at(run: RunFolder, step: int) -> dict[tuple[str, int], str]:
    """(prompt, session) -> response; veRL's random name of the prompt is left out."""
    dump = read(run.rollouts / f"{step}.jsonl", ("group", "session", "response"))
    return {(r["prompt"], r["session"]): r["response"] for r in dump}
