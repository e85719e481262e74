import json
import string
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.checkers import compare

CASES = json.loads((Path(__file__).parents[1] / "golden/checker_cases.json").read_text("utf-8"))
MODES = ("tokens", "lines", "exact")
MIB = 1 << 20

spaces = st.text(" \t\n\r\v\f", min_size=1, max_size=3)
numeric_bytes = st.text("0123456789+-.eE_nax \n\x00", max_size=40).map(str.encode)
outputs = st.binary(max_size=60) | numeric_bytes
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6)


def tokens(output: bytes, expected: bytes, abs_tol: float = 1e-6, rel_tol: float = 1e-6) -> str | None:
    return compare("tokens", output, expected, abs_tol, rel_tol)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_case(case: dict[str, Any]) -> None:
    output, expected = case["output"].encode(), case["expected"].encode()
    ignore_case = case.get("ignore_case", False)
    assert compare(case.get("mode", "tokens"), output, expected, 1e-6, 1e-6, ignore_case) == case["message"]


@pytest.mark.parametrize("mode", MODES)
@given(output=st.binary())
def test_any_output_matches_itself(mode: str, output: bytes) -> None:
    assert compare(mode, output, bytes(bytearray(output)), 0.0, 0.0) is None


@pytest.mark.parametrize("mode", MODES)
@given(output=outputs, expected=outputs)
def test_no_bytes_raise_and_every_message_is_short_printable_ascii(mode: str, output: bytes, expected: bytes) -> None:
    message = compare(mode, output, expected, 1e-6, 1e-6)
    if message is not None:
        assert 0 < len(message) <= 200
        assert message.isascii()
        assert message.isprintable()


@given(st.lists(st.tuples(st.text(string.printable.strip(), min_size=1), spaces, spaces), max_size=8))
def test_only_the_tokens_count_not_the_whitespace_between_them(parts: list[tuple[str, str, str]]) -> None:
    one = "".join(token + space for token, space, _ in parts)
    other = "".join(space + token for token, _, space in parts)
    assert tokens(one.encode(), other.encode(), 0.0, 0.0) is None


@given(st.integers(), st.integers(min_value=1) | st.integers(max_value=-1))
def test_different_integers_never_match_however_large_and_whatever_the_tolerance(n: int, difference: int) -> None:
    assert tokens(str(n).encode(), str(n + difference).encode(), 1.0, 1.0) is not None


@given(st.integers(), st.integers(min_value=1) | st.integers(max_value=-1), st.sampled_from(["", ".0", "e0", "."]))
def test_no_float_is_accepted_for_the_neighbour_of_an_integer(n: int, difference: int, form: str) -> None:
    assert tokens(f"{n}{form}".encode(), str(n + difference).encode(), 1.0, 1.0) is not None
    assert tokens(f"{n}{form}".encode(), str(n).encode(), 0.0, 0.0) is None


@given(
    decimals, st.decimals(-3, 3, places=6), st.sampled_from(["0", "0.5", "0.000001"]), st.sampled_from(["0", "1e-06"])
)
def test_floats_match_exactly_when_the_formula_says_so(want: Decimal, gap: Decimal, abs_tol: str, rel_tol: str) -> None:
    got = want + gap
    within = abs(got - want) <= max(Decimal(abs_tol), Decimal(rel_tol) * abs(want))
    message = tokens(f"{got:f}".encode(), f"{want:f}".encode(), float(abs_tol), float(rel_tol))
    assert (message is None) == within


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (b"1" * 16 * MIB, b"1" * (16 * MIB - 1) + b"2"),
        (b"1" * 16 * MIB, b"1.5"),
        (b"1" * 16 * MIB + b"x", b"1.5"),
        (b"1" * 8 * MIB + b"." + b"1" * 8 * MIB + b"x", b"1.5"),
        (b"0." + b"1" * 16 * MIB + b"e9999", b"5e-9999"),
        (b"\xff" * 16 * MIB, b"1"),
        (b"1" * 100_000, b"1" * 100_001),
    ],
    ids=[
        "digits",
        "digits for a float",
        "digits and a letter",
        "float and a letter",
        "decimals",
        "bytes",
        "past int()",
    ],
)
def test_one_endless_token_is_a_plain_mismatch(output: bytes, expected: bytes) -> None:
    message = tokens(output, expected)
    assert message is not None
    assert message.startswith("token 1: expected ")


@pytest.mark.parametrize("mode", MODES)
def test_sixteen_megabytes_of_short_tokens_are_compared(mode: str) -> None:
    right = b"7\n" * 8 * MIB
    assert compare(mode, right, b"7\n" * 8 * MIB, 1e-6, 1e-6) is None
    assert compare(mode, right[:-2] + b"8\n", right, 1e-6, 1e-6) is not None


@pytest.mark.parametrize("mode", ["tokens", "lines"])
def test_a_flood_takes_hardly_more_memory_than_it_is(mode: str) -> None:
    flood = b"1\n2\n" + b"x\n" * 8 * MIB
    tracemalloc.start()
    message = compare(mode, flood, b"1\n2", 0.0, 0.0)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message == f"output goes on: more than the 2 expected {mode}"
    assert peak_bytes < 3 * len(flood)


def test_an_endless_token_is_shown_by_its_start_and_its_length() -> None:
    message = tokens(b"\x00" * 1000, b"9" * 2000)
    shown = "'" + "9" * 47 + "... (2000 bytes)", "'" + r"\x00" * 11 + r"\x0... (1000 bytes)"
    assert message == f"token 1: expected {shown[0]}, got {shown[1]}"


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown checker mode 'fuzzy'"):
        compare("fuzzy", b"", b"", 0.0, 0.0)
