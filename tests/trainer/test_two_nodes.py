"""Two Ray nodes on this machine with a rank on each, as Slurm starts them: what they train is what one rank trains,
also when the run is killed in the middle."""

import subprocess
import time
from pathlib import Path

import pytest
from held_phases import reached, wish
from placed_judges import two_nodes
from real_runs import (
    CHECKPOINT,
    HINTS,
    START_TIMEOUT_S,
    STEPS,
    Trainings,
    groups_at,
    kill,
    processes_of,
    responses_at,
)

from madrl.run_folder import RunFolder

pytestmark = [pytest.mark.cluster, pytest.mark.verl, pytest.mark.slow, pytest.mark.nightly]

HELD = CHECKPOINT + 1
"""The step in which the run on two nodes is killed: the one after its checkpoint."""

TWO = (*HINTS, "trainer.nnodes=2", "trainer.val_before_train=False", "trainer.test_freq=-1")


@pytest.fixture(scope="module")
def two(trainings: Trainings) -> RunFolder:
    """``undisturbed`` on two nodes with a rank, an agent-loop worker and a reward worker each; killed, and called
    again."""
    with pytest.MonkeyPatch.context() as patch:
        # The nodes' own environment is their workers'.
        for name, value in trainings.environment("two").items():
            patch.setenv(name, value)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        wish("generation").parent.mkdir()
        wish("generation").write_text(str(HELD))
        with two_nodes(1, 1) as cluster:
            changes = (*TWO, f"++ray_kwargs.ray_init.address={cluster.address}")
            run = RunFolder(trainings.folder / "two")
            kill_in_generation(trainings.start("two", *changes), run)
            wish("generation").unlink()
            return trainings.run("two", *changes)


def kill_in_generation(process: "subprocess.Popen[str]", run: RunFolder) -> None:
    """SIGKILL to the launcher and to veRL's main while the responses of step HELD are generated."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (reached("generation").exists() and CHECKPOINT in run.history()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"step {HELD} does not begin"
        time.sleep(0.05)
    kill(process, run)
    while processes_of(run):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_each_node_has_a_rank_and_the_run_was_resumed(trainings: Trainings, two: RunFolder) -> None:
    actor = two.checkpoints / f"global_step_{STEPS}" / "actor"
    assert {path.name for path in actor.glob("model_*")} == {f"model_world_size_2_rank_{rank}.pt" for rank in (0, 1)}
    attempts = [Path(path).stem for path in two.metrics.glob("*.jsonl")]
    assert sorted(attempts) == ["attempt-1", "attempt-2"]
    assert [step for step in two.history() if step] == list(range(1, STEPS + 1))
    # Each attempt has two workers; a group goes to either, so that the four groups of the first may all go to one.
    pids = (trainings.folder / "two.pids").read_text().split()
    assert 2 <= len(set(pids)) <= 4


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_two_nodes_train_what_one_rank_trains(undisturbed: RunFolder, two: RunFolder, step: int) -> None:
    assert responses_at(two, step) == responses_at(undisturbed, step)
    found, expected = two.history()[step], undisturbed.history()[step]
    for metric in ("mad/jsd", "mad/pass@1", "mad/reward/mean"):
        assert found[metric] == pytest.approx(expected[metric], abs=1e-6), metric
    for metric in ("actor/grad_norm", "actor/kl_loss"):
        assert found[metric] == pytest.approx(expected[metric], rel=1e-4, abs=1e-6), metric
    assert found["training/rollout_probs_diff_max"] < 1e-3


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_each_response_earns_the_same(undisturbed: RunFolder, two: RunFolder, step: int) -> None:
    of_one, of_two = (sorted_rewards(run, step) for run in (undisturbed, two))
    assert of_two == pytest.approx(of_one, abs=1e-6)


def sorted_rewards(run: RunFolder, step: int) -> list[float]:
    """By the data row and the session: the groups' names are veRL's, and random."""
    records = [record for group in groups_at(run, step).values() for record in group]
    return [record["reward"] for record in sorted(records, key=lambda record: (record["row"], record["session"]))]
