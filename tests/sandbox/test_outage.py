"""A machine that has no memory left: what that ends is the service's failure, and says nothing of a program."""

from collections.abc import Callable
from typing import Any

import pytest
from sandbox_service import HELD

pytestmark = pytest.mark.sandbox

OURS = "the machine ran out of memory"
HOARDS = "x = b'a' * (300 << 20)"
"""Within the limits of programs and checkers, and more than the machine has."""
COMPARES = """import sys
out, expected = (open(path).read().split() for path in sys.argv[2:])
if out != expected: {otherwise}
sys.exit(sorted(out) != sorted(expected))
"""
"""A checker that takes the words in any order."""


@pytest.fixture
def short_of_memory(own_service: Callable[..., Any]) -> Any:
    """A service on a machine with 150 MiB."""
    service = own_service()
    service.leave_memory(150)
    return service


def judged(
    service: Any, code: str, checker: str | None = None, count: int = 1, memory_mb: int = 1024, **fields: Any
) -> dict[str, Any]:
    """The answer on a Python program with ``count`` tests, of which each expects the words "1 2"."""
    if checker is not None:
        fields["checker"] = {"mode": "program", "language": "python", "code": checker}
    tests = [{"input": str(n), "output": "1 2"} for n in range(count)]
    answer: dict[str, Any] = service.judge(
        language="python", code=code, tests=tests, memory_limit_mb=memory_mb, **fields
    )
    return answer


def test_a_checker_that_the_machine_has_no_memory_for_makes_no_output_wrong(short_of_memory: Any) -> None:
    checker = COMPARES.format(otherwise=HOARDS)
    answer = judged(short_of_memory, "print('2 1')", checker)
    assert (answer["verdict"], OURS in answer["message"]) == ("IE", True), answer
    assert judged(short_of_memory, "print('1 2')", checker)["verdict"] == "AC"


def test_a_checker_that_the_machine_has_no_memory_for_is_not_the_requests_fault(short_of_memory: Any) -> None:
    answer = judged(short_of_memory, "print('1 2')", f"{HOARDS}\nraise SystemExit")
    assert (answer["verdict"], OURS in answer["message"]) == ("IE", True), answer


@pytest.mark.parametrize("checker", [None, COMPARES.format(otherwise="pass")])
def test_what_an_outage_keeps_from_being_run_is_not_left_out_of_the_results(
    short_of_memory: Any, checker: str | None
) -> None:
    code = f"n = int(input())\nif n == 0: raise SystemExit(1)\nif n == 1: {HOARDS}\nprint('1 2')"
    answer = judged(short_of_memory, code, checker, count=20, stop_on_first_failure=False)
    assert (answer["verdict"], answer["tests"], OURS in answer["message"]) == ("IE", [], True), answer


@pytest.mark.parametrize("checker", [None, COMPARES.format(otherwise="pass")])
def test_a_test_that_fails_before_an_outage_decides(short_of_memory: Any, checker: str | None) -> None:
    """A checker sees the outputs of several tests together, once the program has ended."""
    code = f"n = int(input())\nif n == 2: {HOARDS}\nprint('1', 2 + (n == 1))"
    answer = judged(short_of_memory, code, checker, count=4)
    assert (answer["verdict"], answer["first_failed"], len(answer["tests"])) == ("WA", 1, 2), answer


GROWS = f"""if n == 0: x = b'a' * (2000 << 20)
{HELD}x = b'a' * (200 << 20)
"""
"""Meets its own limit at the first test, and needs more than the machine has by then at the second."""


@pytest.mark.parametrize("who", ["program", "checker"])
def test_an_outage_behind_a_test_that_met_its_own_limit_is_an_outage(own_service: Callable[..., Any], who: str) -> None:
    service = own_service()

    def runs_out() -> bool:
        """Leave the machine no memory once the second test runs, and say so."""
        begun: bool = service.holds() > 0
        if begun:
            service.leave_memory(150)
        return begun

    if who == "program":
        code, checker = f"n = int(input())\n{GROWS}print('1 2')", None
    else:
        code = "print('2 1')"
        grows = "".join(f"    {line}\n" for line in f"n = int(open(sys.argv[1]).read())\n{GROWS}".splitlines())
        checker = COMPARES.format(otherwise=f"\n{grows}")
    with service.letting_go(once=runs_out):
        answer = judged(service, code, checker, count=2, stop_on_first_failure=False, memory_mb=256)
    assert (answer["verdict"], answer["tests"], OURS in answer["message"]) == ("IE", [], True), answer
