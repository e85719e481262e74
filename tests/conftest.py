"""Settings and fixtures for the whole suite."""

import os
import signal

import pytest
from hypothesis import settings
from sandbox_service import own_service, service

__all__ = ["own_service", "service"]

# Examples have no deadline of their own: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None)
settings.load_profile("madrl")

# A shell ignores SIGINT for its background jobs, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With -n 2 the longest file first, or the other process would end up waiting for it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path.name != "test_real_trainer.py")
