"""Says its input in capitals. The wrong programs do so, too, and then end with a status that is not 0."""
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64}
TESTS = [("word\n", "WORD\n"), ("two words\n", "TWO WORDS\n")]
