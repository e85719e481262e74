"""What each kind of response earns in a group of sixteen, under each form and divergence: docs/what_pays.md.

python tests/redteam/orders.py          prints the tables
python tests/redteam/orders.py --write  puts them into the page, between its marks
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from madrl.divergence import DIVERGENCES
from madrl.files import replacing
from madrl.frequency import OFF_SUPPORT, UNCLASSIFIED
from madrl.report.table import formatted
from madrl.reward import RewardConfig, score_group
from madrl.targets import peak

PAGE = Path(__file__).parents[2] / "docs" / "what_pays.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

N_CATEGORIES = 5
EXCLUDED, RARE, COMMON = 0, 2, 4
"""The peaked target wants nothing of the first two categories, and a third of each of the others."""

COLUMNS = {
    **{f"additive {name}": RewardConfig(name, "additive") for name in DIVERGENCES},
    **{f"gated {name}": RewardConfig(name, "gated") for name in DIVERGENCES},
    "gated rkl, gate_floor=0": RewardConfig("rkl", "gated", gate_floor=0.0),
    "rlvr": RewardConfig(form="rlvr"),
}


class Situation(NamedTuple):
    """The fifteen siblings of the response in question."""

    name: str
    siblings: tuple[int, ...]
    correct: tuple[bool, ...]


SITUATIONS = (
    Situation(
        "A trained policy: fifteen siblings in the wanted categories, 3, 5 and 7 of them, 12 of them correct",
        (2,) * 3 + (3,) * 5 + (4,) * 7,
        (True,) * 12 + (False,) * 3,
    ),
    Situation(
        "An untrained policy: twelve siblings in an excluded category, 1 and 2 in wanted ones, 12 of them correct",
        (0,) * 12 + (2,) + (4,) * 2,
        (True,) * 12 + (False,) * 3,
    ),
)

KINDS: dict[str, tuple[int, float | None]] = {
    "correct, wanted and rare": (RARE, 1.0),
    "correct, wanted and common": (COMMON, 1.0),
    "correct, excluded": (EXCLUDED, 1.0),
    "correct, off-support": (OFF_SUPPORT, 1.0),
    "wrong, wanted and rare": (RARE, 0.0),
    "wrong, wanted and common": (COMMON, 0.0),
    "wrong, excluded": (EXCLUDED, 0.0),
    "wrong, off-support (also: empty)": (OFF_SUPPORT, 0.0),
    "ungraded, wanted and rare": (RARE, None),
    "correct, unclassified": (UNCLASSIFIED, 1.0),
    "wrong, unclassified": (UNCLASSIFIED, 0.0),
}
"""Kind of response -> its category, and its correctness."""


def earned(situation: Situation, kind: str, config: RewardConfig) -> float:
    """The reward of a response of that kind."""
    category, correct = KINDS[kind]
    indices = np.array([category, *situation.siblings])
    return float(score_group(indices, [correct, *situation.correct], peak(N_CATEGORIES), config).reward[0])


def tables() -> Iterator[str]:
    """The page's tables, in Markdown."""
    for situation in SITUATIONS:
        yield f"{situation.name}.\n\n| the response | " + " | ".join(COLUMNS) + " |\n"
        yield "| :-- |" + " --: |" * len(COLUMNS) + "\n"
        for kind in KINDS:
            cells = (formatted(earned(situation, kind, config), ".2f") for config in COLUMNS.values())
            yield f"| {kind} | " + " | ".join(cells) + " |\n"
        yield "\n"


def main() -> None:
    """Print the tables, or put them into the page."""
    text = "".join(tables())
    if "--write" not in sys.argv:
        print(text, end="")
        return
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    with replacing(PAGE) as partial:
        partial.write_text(f"{before}{BEGIN}\n\n{text}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
