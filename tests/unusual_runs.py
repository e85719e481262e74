"""Real runs of two steps on two CPU cores with what few runs have: two ranks on one node, groups of thirty-two,
and prompts of which no session comes back.

    python tests/unusual_runs.py [NAME ...]

Each is checked, and prints a line with what was seen. docs/fault_drill.md keeps the lines.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS.parent), str(TESTS / "trainer")]

from real_runs import PROMPTS, Trainings, groups_at, responses_at  # noqa: E402

from madrl.run_folder import RunFolder  # noqa: E402

STEPS = 2
COMMON = (
    "actor_rollout_ref.rollout.agent.agent_loop_manager_class=madrl.trainer.group_loop.GroupAgentLoopManager",
    "madrl.launch_check=warn",
    f"trainer.total_training_steps={STEPS}",
    f"trainer.save_freq={STEPS}",
    "trainer.val_before_train=False",
    "trainer.test_freq=-1",
)
WIDE = 32
COMPARED = ("mad/jsd", "mad/reward/mean", "actor/grad_norm")


def two_ranks(trainings: Trainings) -> str:
    """Groups of 32 on one rank and on two."""
    wide = (*COMMON, f"actor_rollout_ref.rollout.n={WIDE}")
    one = trainings.run("one_rank", *wide)
    two = trainings.run("two_ranks", *wide, "trainer.n_gpus_per_node=2")
    sizes = {len(group) for run in (one, two) for s in (1, 2) for group in groups_at(run, s).values()}
    assert sizes == {WIDE}
    assert len(list(two.checkpoints.glob(f"global_step_{STEPS}/actor/model_world_size_2_rank_*.pt"))) == 2
    apart = 0.0
    for step in range(1, STEPS + 1):
        assert responses_at(one, step) == responses_at(two, step)
        for name in COMPARED:
            found, wanted = two.history()[step][name], one.history()[step][name]
            apart = max(apart, abs(found - wanted) / max(abs(wanted), 1e-3))
    assert apart < 1e-4
    return (
        f"{STEPS} steps of {PROMPTS} groups of {WIDE} on one rank and on two: the same responses; JSD, mean reward and "
        f"gradient norm differ by at most {apart:.0e} of their size"
    )


def lost(trainings: Trainings) -> str:
    """No session of every third prompt comes back."""
    manager = "actor_rollout_ref.rollout.agent.agent_loop_manager_class=plugins_under_test.LosingManager"
    run = trainings.run("lost", *COMMON, manager, "madrl.max_ungraded_rate=0.9", "data.train_batch_size=8")
    rates = [run.history()[step]["mad/failed_session_rate"] for step in (1, 2)]
    groups = [len(groups_at(run, step)) for step in (1, 2)]
    assert max(rates) > 0
    assert [1 - rate for rate in rates] == [count / 8 for count in groups]
    return (
        f"prompts that lose all of their sessions: {groups[0]} and {groups[1]} of 8 prompts are trained on, "
        f"mad/failed_session_rate is {rates[0]:.3g} and {rates[1]:.3g}, gradient norms are {norms(run)}"
    )


def norms(run: RunFolder) -> str:
    found = [run.history()[step]["actor/grad_norm"] for step in range(1, STEPS + 1)]
    assert np.isfinite(found).all()
    return " and ".join(f"{norm:.3g}" for norm in found)


RUNS: dict[str, Callable[[Trainings], str]] = {"two_ranks": two_ranks, "lost": lost}


def main() -> None:
    names = sys.argv[1:] or list(RUNS)
    if unknown := sorted({*names} - {*RUNS}):
        raise SystemExit(f"{unknown[0]!r} is none of {', '.join(RUNS)}")
    with tempfile.TemporaryDirectory() as folder:
        trainings = Trainings(Path(folder))
        for name in names:
            print(f"- `{name}`: {RUNS[name](trainings)}.", flush=True)


if __name__ == "__main__":
    main()
