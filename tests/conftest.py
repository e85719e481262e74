"""Settings and fixtures for the whole suite."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from real_runs import resumed, trainings, undisturbed
from sandbox_service import own_service, service

from madrl import tasks

__all__ = ["own_service", "resumed", "service", "trainings", "undisturbed"]

FOLDER = Path(__file__).parent

CORE = {
    FOLDER / f"{name}.py"
    for name in (
        "test_alarms", "test_calibration", "test_divergence", "test_frequency", "test_group_reward", "test_prompts",
        "test_reward", "test_rollout", "test_settings", "test_targets", "evaluation/test_per_prompt",
        "grading/test_choice", "grading/test_listed_option", "trainer/test_prompt_group",
    )
}  # fmt: skip
"""The files whose tests are marked ``core``: the reward and what it is made of. ``pytest -m core`` reads no other file
and draws fewer examples, so that it takes seconds."""

# Neither examples nor drawing them has a deadline: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("core", settings.get_profile("madrl"), max_examples=20)

# A shell ignores SIGINT for its background jobs, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _core_only(config: pytest.Config) -> bool:
    return bool(config.getoption("markexpr") == "core")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples are drawn. Raises UsageError when a file of the core is not there any more."""
    if gone := [str(file) for file in CORE if not file.exists()]:
        raise pytest.UsageError(f"tests/conftest.py lists files that do not exist: {', '.join(gone)}")
    settings.load_profile("core" if _core_only(config) else "madrl")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare ``pytest -m core`` the imports of all other files."""
    return True if _core_only(config) and collection_path.is_file() and collection_path not in CORE else None


@pytest.fixture(autouse=True)
def _no_tasks_loaded() -> None:
    """Forget the task files of earlier tests, whose modules have the same names."""
    tasks._modules.clear()


def pytest_collection_finish() -> None:
    """Leave the libraries' 700,000 objects out of garbage collections: half a second of whichever test one falls in."""
    gc.collect()
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """What the two processes of -n 2 do not share: all trainings, which wait for each other, and what else is marked
    ``verl`` unless it names a group; the tests of one user's ``service``, which is started once and not for each file;
    and any other file. xdist shows the group behind an @, which is no part of the test's name."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    user = parameters.get("service")
    verl = item.get_closest_marker("verl")
    group = verl.kwargs.get("group", "verl") if verl else f"service of {user}" if user else item.path.stem
    item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the core, and begin with veRL, which takes longest, or one of two processes would end up waiting for it."""
    for item in items:
        if item.path in CORE:
            item.add_marker(pytest.mark.core)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.get_closest_marker("verl") is None)
