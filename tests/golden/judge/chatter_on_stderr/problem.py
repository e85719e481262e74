"""The number of digits. The right programs write 1 MB on standard error as well, the wrong ones without end."""
LIMITS = {"time_limit_s": 3, "memory_limit_mb": 64}
TESTS = [("12345\n", "5\n")]
