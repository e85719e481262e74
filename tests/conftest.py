"""Settings and fixtures for the whole suite."""

import signal

from hypothesis import settings
from sandbox_service import own_service, service

__all__ = ["own_service", "service"]

# Examples have no deadline of their own: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None)
settings.load_profile("madrl")

# A shell ignores SIGINT for its background jobs, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
