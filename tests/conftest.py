"""Settings and fixtures for the whole suite."""

import signal
from typing import Any

import pytest
from hypothesis import settings
from sandbox_service import own_service, service
from xdist.scheduler import LoadScopeScheduling

__all__ = ["own_service", "service"]

# Examples have no deadline of their own: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None)
settings.load_profile("madrl")

# A shell ignores SIGINT for its background jobs, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


class WholeFiles(LoadScopeScheduling):
    """With -n 2: files stay whole, for their fixtures' sake, and so does tests/sandbox, where tests count what the
    sandbox leaves on the machine.

    In place of xdist's own loadgroup: 3.8 marks groups in an attribute that pytest 9.2 does not have, and splits them.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "tests/sandbox" if nodeid.startswith("tests/sandbox/") else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeFiles:
    return WholeFiles(config, log)
