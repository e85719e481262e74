"""Says its input again after a nap of 0.3 s, which is no CPU time."""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [("once\n", "once\n"), ("twice\n", "twice\n")]
