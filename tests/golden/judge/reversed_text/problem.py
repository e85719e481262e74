"""A line backwards, by characters and not by bytes."""
_lines = ["abc", "größer als Ärger", "日本語のテキスト", "ходить по 🌍"]
LIMITS = {"time_limit_s": 1, "memory_limit_mb": 64, "checker": {"mode": "lines"}}
TESTS = [(f"{line}\n", f"{line[::-1]}\n") for line in _lines]
