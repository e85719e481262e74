"""Settings for the whole suite."""

from hypothesis import settings

# Examples have no deadline of their own: on a loaded two-core machine an import alone can take longer.
settings.register_profile("madrl", deadline=None)
settings.load_profile("madrl")
