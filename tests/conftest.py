"""Settings and fixtures for the whole suite."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from sandbox_service import own_service, service

__all__ = ["own_service", "service"]

# Neither examples nor drawing them has a deadline: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("madrl")

# A shell ignores SIGINT for its background jobs, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave the libraries' 700,000 objects out of garbage collections: half a second of whichever test one falls in."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With -n 2 the longest file first, or the other process would end up waiting for it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path.name != "test_real_trainer.py")
