"""A step that would wait for ever, with the clock and the workers scripted; test_group_filter.py has a real one."""

import pytest

from madrl.errors import MadrlError
from madrl.trainer.step_watch import LOOK_EVERY_S, StepWatch


class Scene:
    """A time and some workers that a test sets."""

    def __init__(self, max_idle_s: float = 100.0) -> None:
        self.now = 0.0
        self.workers = {"agent_loop_worker_0_a", "agent_loop_worker_1_b"}
        self.watch = StepWatch(max_idle_s, lambda: set(self.workers), lambda: self.now)


def test_a_worker_that_dies_ends_the_step_with_its_name() -> None:
    scene = Scene()
    scene.watch.begin("train step 3")
    scene.watch.look(0)
    scene.workers.remove("agent_loop_worker_1_b")
    scene.now = LOOK_EVERY_S
    with pytest.raises(MadrlError, match=r"^train step 3: agent_loop_worker_1_b died"):
        scene.watch.look(0)


def test_a_worker_that_dies_between_two_steps_is_missed_too() -> None:
    scene = Scene()
    scene.watch.look(0)
    scene.workers.clear()
    scene.now = 50.0
    scene.watch.begin("train step 4")
    with pytest.raises(MadrlError, match=r"^train step 4: agent_loop_worker_0_a, agent_loop_worker_1_b died"):
        scene.watch.look(0)


def test_workers_of_unknown_names_are_not_missed() -> None:
    scene = Scene()
    scene.workers.clear()
    scene.watch.look(0)
    scene.now = 50.0
    scene.watch.look(0)


def test_a_step_without_progress_ends_at_its_limit_and_not_before() -> None:
    scene = Scene(max_idle_s=100.0)
    scene.now = 1000.0
    scene.watch.begin("val step 0")  # what it waited before is not the step's
    for scene.now, progress in ((1000.0, 0), (1099.0, 0), (1099.5, 1), (1199.0, 1)):
        scene.watch.look(progress)
    scene.now = 1199.5
    with pytest.raises(MadrlError, match=r"val step 0: no response has come back for 100 s \(madrl.max_idle_s\)"):
        scene.watch.look(1)
