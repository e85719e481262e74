"""Two Ray nodes on this machine with a rank on each, as Slurm starts them: what they train is what one rank trains,
also when the run is killed in the middle."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from held_phases import reached, wish
from placed_judges import two_nodes
from test_real_trainer import GROUP, PROMPTS, START_TIMEOUT_S, Trainings, groups_at, processes_of, responses_at

from madrl.run_folder import RunFolder

pytestmark = [pytest.mark.cluster, pytest.mark.verl, pytest.mark.slow]

STEPS, CHECKPOINT = 3, 1
HELD = 2
"""The step in which the run on two nodes is killed: the one after its checkpoint."""

COMMON = (
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=held_phases.HeldManager",
    f"trainer.total_training_steps={STEPS}",
    f"trainer.save_freq={CHECKPOINT}",
    "trainer.val_before_train=False",
    "trainer.test_freq=-1",
)
ONE = ("actor_rollout_ref.rollout.agent.num_workers=1", "reward.num_workers=1")
TWO = ("trainer.nnodes=2", "actor_rollout_ref.rollout.agent.num_workers=2", "reward.num_workers=2")


class Runs(NamedTuple):
    one: RunFolder
    """On one rank with a Ray of its own, an agent-loop worker and a reward worker."""
    two: RunFolder
    """On two nodes with a rank, two agent-loop workers and two reward workers in all; killed, and called again."""
    pids: list[str]
    """The reward workers of the second, by the responses that they graded."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    trainings = Trainings(tmp_path_factory.mktemp("two_nodes"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLD_FOLDER", str(trainings.folder))
        one = trainings.run("one", *COMMON, *ONE)
        # The nodes' own environment is their workers'.
        for name, value in trainings.environment("two").items():
            patch.setenv(name, value)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        wish("generation").write_text(str(HELD))
        with two_nodes(1, 1) as cluster:
            changes = (*COMMON, *TWO, f"++ray_kwargs.ray_init.address={cluster.address}")
            two = RunFolder(trainings.folder / "two")
            kill_in_generation(trainings.start("two", *changes), two)
            wish("generation").unlink()
            trainings.run("two", *changes)
        yield Runs(one, two, (trainings.folder / "two.pids").read_text().split())


def kill_in_generation(process: "subprocess.Popen[str]", run: RunFolder) -> None:
    """SIGKILL to the launcher and to veRL's main while the responses of step HELD are generated."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (reached("generation").exists() and run.history()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"step {HELD} does not begin"
        time.sleep(0.05)
    process.kill()
    for pid in processes_of(run):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()
    while processes_of(run):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_each_node_has_a_rank_and_the_run_was_resumed(runs: Runs) -> None:
    actor = runs.two.checkpoints / f"global_step_{STEPS}" / "actor"
    assert {path.name for path in actor.glob("model_*")} == {f"model_world_size_2_rank_{rank}.pt" for rank in (0, 1)}
    attempts = [Path(path).stem for path in runs.two.metrics.glob("*.jsonl")]
    assert sorted(attempts) == ["attempt-1", "attempt-2"]
    assert [step for step in runs.two.history() if step] == list(range(1, STEPS + 1))
    # Each attempt has two workers; a group goes to either, so that the four groups of the first may all go to one.
    assert 2 <= len(set(runs.pids)) <= 4


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_two_nodes_train_what_one_rank_trains(runs: Runs, step: int) -> None:
    assert responses_at(runs.two, step) == responses_at(runs.one, step)
    found, expected = runs.two.history()[step], runs.one.history()[step]
    for metric in ("mad/jsd", "mad/pass@1", "mad/reward/mean"):
        assert found[metric] == pytest.approx(expected[metric], abs=1e-6), metric
    for metric in ("actor/grad_norm", "actor/kl_loss"):
        assert found[metric] == pytest.approx(expected[metric], rel=1e-4, abs=1e-6), metric
    assert found["training/rollout_probs_diff_max"] < 1e-3


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_each_response_earns_the_same(runs: Runs, step: int) -> None:
    of_one, of_two = (sorted_rewards(run, step) for run in (runs.one, runs.two))
    assert len(of_one) == PROMPTS * GROUP
    assert of_two == pytest.approx(of_one, abs=1e-6)


def sorted_rewards(run: RunFolder, step: int) -> list[float]:
    """By the data row and the session: the groups' names are veRL's, and random."""
    records = [record for group in groups_at(run, step).values() for record in group]
    return [record["reward"] for record in sorted(records, key=lambda record: (record["row"], record["session"]))]
