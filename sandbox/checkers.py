"""Whether an output is the expected one: by tokens, by lines or byte for byte.

Runs on the host, on bytes that a hostile program chose: every mode takes time in proportion to their number, and no
bytes make it raise. Where several answers are right, checker_program.py asks a program.
"""

import re
from bisect import bisect_left
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

_INTEGER = re.compile(rb"[+-]?\d+")
# Four digits of exponent are enough for a C long double; more would let a few bytes ask for gigabytes of digits.
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_HALF = Decimal("0.5")
_SHOWN_BYTES = 48


def compare(
    mode: str, output: bytes, expected: bytes, abs_tol: float, rel_tol: float, ignore_case: bool = False
) -> str | None:
    """None when ``output`` matches ``expected``. Otherwise where they part, in at most 200 printable ASCII characters.

    ``mode`` is one of:
    tokens: as many tokens between ASCII whitespace, and each equals its counterpart as bytes or as a number.
    lines: the same lines, where whitespace at a line's end and blank lines at the end of the output do not count.
    exact: the same bytes.
    The tolerances count in tokens mode only, and so does ``ignore_case``, with which an ASCII letter is the same in
    upper and lower case. Raises ValueError for any other mode.
    """
    if mode not in ("tokens", "lines", "exact"):
        raise ValueError(f"unknown checker mode {mode!r}: use tokens, lines or exact")
    if output == expected:
        return None
    if mode == "tokens":
        return _compare_tokens(output, expected, Decimal(repr(abs_tol)), Decimal(repr(rel_tol)), ignore_case)
    if mode == "lines":
        return _compare_lines(output, expected)
    return _compare_bytes(output, expected)


def _compare_tokens(
    output: bytes, expected: bytes, abs_tol: Decimal, rel_tol: Decimal, ignore_case: bool
) -> str | None:
    want = expected.split()
    # The rest of a longer output stays in one piece, so that a flood of short tokens takes no more memory than it is.
    got = output.split(None, len(want))
    if got == want:
        return None
    for i, (w, g) in enumerate(zip(want, got, strict=False)):
        same = w == g or (ignore_case and w.lower() == g.lower()) or _same_number(g, w, abs_tol, rel_tol)
        if not same:
            return f"token {i + 1}: expected {_show(w)}, got {_show(g)}"
    return _compare_counts(len(got), len(want), "tokens")


def _same_number(output: bytes, expected: bytes, abs_tol: Decimal, rel_tol: Decimal) -> bool:
    """Whether two tokens that differ as bytes are the same number.

    Two integers are the same when they have the same digits and the same sign. ``+5`` is ``5`` and ``-0`` is ``0``, but
    ``007`` is not ``7``, because strings of digits are answers too. When either has a point or an exponent, they are
    the same when |output - expected| <= max(abs_tol, rel_tol * |expected|), in exact arithmetic. The difference must
    also be < 0.5 when an integer is expected, so that no tolerance makes 10^17 of 10^17 + 1. Only decimal notation in
    ASCII is a number: ``nan``, ``inf`` and ``1_000`` are not.
    """
    if _INTEGER.fullmatch(output) and _INTEGER.fullmatch(expected):
        return _signed(output) == _signed(expected)
    if not (_NUMBER.fullmatch(output) and _NUMBER.fullmatch(expected)):
        return False
    want = Decimal(expected.decode("ascii"))
    gap = _EXACT.subtract(Decimal(output.decode("ascii")), want).copy_abs()
    if gap > abs_tol and gap > _EXACT.multiply(rel_tol, want.copy_abs()):
        return False
    return gap < _HALF or not _INTEGER.fullmatch(expected)


def _signed(integer: bytes) -> tuple[bool, bytes]:
    """Whether the integer is below zero, and its digits. int() takes quadratic time and has a longest number."""
    digits = integer.lstrip(b"+-")
    return integer.startswith(b"-") and bool(digits.strip(b"0")), digits


def _compare_lines(output: bytes, expected: bytes) -> str | None:
    want = _lines(expected, -1)
    got = _lines(output, len(want))
    for i, (w, g) in enumerate(zip(want, got, strict=False)):
        if w.rstrip() != g.rstrip():
            return f"line {i + 1}: expected {_show(w.rstrip())}, got {_show(g.rstrip())}"
    return _compare_counts(len(got), len(want), "lines")


def _lines(text: bytes, most: int) -> list[bytes]:
    """At most ``most`` lines (-1 for all) and what follows them in one piece, without the blank end."""
    text = text.rstrip()
    return text.split(b"\n", most) if text else []


def _compare_counts(got: int, want: int, things: str) -> str | None:
    if got < want:
        return f"output ends early: {got} {things}, expected {want}"
    if got > want:
        return f"output goes on: more than the {want} expected {things}"
    return None


def _compare_bytes(output: bytes, expected: bytes) -> str:
    shorter = min(len(output), len(expected))
    at = bisect_left(range(shorter), True, key=lambda i: output[: i + 1] != expected[: i + 1])
    if at == shorter:
        return f"output is {len(output)} bytes, expected {len(expected)}; the first {at} are the same"
    return f"byte {at + 1}: expected {_show(expected[at:])}, got {_show(output[at:])}"


def _show(token: bytes) -> str:
    """The token in quotes, escaped, and cut to at most 80 characters."""
    text = repr(token[:_SHOWN_BYTES])[1:]
    if len(token) <= _SHOWN_BYTES and len(text) <= _SHOWN_BYTES + 2:
        return text
    return f"{text[:_SHOWN_BYTES]}... ({len(token)} bytes)"
