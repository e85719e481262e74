"""Settings and fixtures for the whole suite."""

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
    """With -n 2: files stay whole, for their fixtures' sake, and so do all tests of the sandbox, since some count the
    processes and control groups that it leaves on the machine."""
    for item in items:
        group = "sandbox" if item.get_closest_marker("sandbox") else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
