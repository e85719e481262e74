import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from madrl.grading.programs.source_language import MAX_BYTES, source_language

PYTHON = "n = int(input())\nprint(n * 2)\n"
CPP = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2; }\n"


def test_another_languages_code_in_comments_and_strings_counts_for_nothing() -> None:
    assert source_language(f"'''\n{CPP * 5}'''\n{PYTHON}") == "python"
    assert source_language(f"/*\n{PYTHON * 5}*/\n{CPP}", "python") == "cpp"
    assert source_language("// go\n// package main\n" + CPP, "go") == "cpp"


def test_code_that_fits_several_languages_is_in_the_claimed_one_or_in_none() -> None:
    assert source_language("x = 1\n", "python") == "python"
    assert source_language("x = 1\n", "javascript") == "javascript"
    assert source_language("x = 1\n") is None


def test_a_broken_program_keeps_the_claimed_language() -> None:
    broken = "#include <iostream>\nint main() { int n std::cin >> n; std::cout << n * 2; }\n"
    assert source_language(broken, "cpp") == "cpp"


def test_plain_c_is_cpp_only_where_that_is_claimed() -> None:
    plain_c = '#include <stdio.h>\nint main() { puts("1"); return 0; }\n'
    assert source_language(plain_c, "cpp") == "cpp"
    assert source_language(plain_c) is None
    assert source_language(plain_c, "java") is None


def test_code_beyond_the_cap_is_in_no_language() -> None:
    assert source_language(PYTHON + "#" * MAX_BYTES, "python") is None


@pytest.mark.parametrize("unit", ["(", "{", "a<", "a<b,", "`${", "f(a<", "a[]<", "a<b&&", "if x:\n "])
def test_a_flood_is_given_up_in_bounded_time(unit: str) -> None:
    started = time.process_time()
    source_language(unit * (MAX_BYTES // len(unit)), "java")
    assert time.process_time() - started < 6


def test_one_pause_of_the_interpreter_does_not_make_a_program_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full garbage collection counts as the parsers' CPU time. Here one comes before they first look at the clock."""
    clock = iter([0.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(clock, 100.0))
    assert source_language(f"{PYTHON * 200}# paused\n") == "python"
    assert next(clock, None) is None


def test_threads_agree() -> None:
    codes = [f"{PYTHON}# {i}\n" for i in range(40)]
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(source_language, codes)) == {"python"}
