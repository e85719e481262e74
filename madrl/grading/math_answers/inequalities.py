r"""MATH: inequalities with "or" between them, as the union of intervals that they describe. A single inequality, and
those that hold together, are left to `symbolic`.
"""

import re

_OR = re.compile(r' ?,? ?(?:" ?(?:or|o|ou|或|或者|या) ?"|(?<![a-zA-Z\\])or(?![a-zA-Z])) ?')
_SIGN = re.compile(r"(<|>|\\[lg]e(?![a-zA-Z]))")
_MIRRORED = {">": "<", r"\ge": r"\le"}


def union(text: str) -> str | None:
    r"""``(-\infty,0)\cup(1,2]`` for ``x < 0 "or" 1 < x \le 2``, in plain notation; None when ``text`` is no such
    inequalities for one letter."""
    parts = [_bounds(part) for part in _OR.split(text)]
    bounds = [part for part in parts if part is not None]
    if len(bounds) < 2 or len(bounds) < len(parts) or len({letter for _, _, letter, _, _ in bounds}) > 1:
        return None
    return r"\cup".join(
        f"{'[('[above == '<']}{low},{high}{'])'[below == '<']}" for low, above, _, below, high in bounds
    )


def _bounds(text: str) -> list[str] | None:
    r"""Of ``0 < x \le 1`` its five parts; of an inequality with one bound those with the other, which is infinite."""
    parts = [part.strip() for part in _SIGN.split(text)]
    if len(parts) > 1 and parts[1] in _MIRRORED:
        parts = [_MIRRORED.get(part, part) for part in reversed(parts)]
    if len(parts) == 3:
        parts = [r"-\infty", "<", *parts] if _is_letter(parts[0]) else [*parts, "<", r"\infty"]
    is_ordered = len(parts) == 5 and not _MIRRORED.keys() & {parts[1], parts[3]}
    return parts if is_ordered and _is_letter(parts[2]) else None


def _is_letter(text: str) -> bool:
    return len(text) == 1 and text.isalpha()
