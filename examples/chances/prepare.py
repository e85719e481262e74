"""Write the task's data beside this file: prompts that tell the odds of two or three outcomes, each row with its own
odds as target, and the examples that the task's miniature learns.

Trained are bags of marbles and wheels of fortune. Held out are other counts of marbles, other colours, and three kinds
of chance that training has nothing of: coins, dice and the weather. Every prompt is there once for each order of its
outcomes (of three, each is first once), so that no place is likelier than another.
"""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chances import PLACES

from madrl.schema import Message, Row, make_row, write_parquet

COLOURS = ("red", "blue", "green", "yellow", "black", "white", "pink", "grey", "silver")
OTHER_COLOURS = ("orange", "purple", "brown", "gold")
FORECASTS = ((1, ("rain", "snow")), (3, ("rain", "sun")), (6, ("cold", "warm")), (8, ("wet", "dry")))
"""Tens of percent of the first of two kinds of weather. Several, as the model has a habit of its own for each word."""

HOLDOUT_COUNTS = ((1, 2), (1, 5), (1, 8), (2, 7), (3, 4), (3, 5), (4, 9), (6, 6), (1, 2, 3), (2, 2, 4), (1, 1, 6))
VALIDATION_COUNTS = ((2, 3), (1, 6), (3, 8), (5, 7))
"""Training has all other counts from 1 to 9, of two colours and of three."""
OTHER_COLOURS_COUNTS = ((1, 3), (1, 9), (2, 5), (3, 7), (5, 6), (8, 8))
"""Such counts as training has, in the colours that it has not."""

ROUNDS = 64
"""Training has so many times 20 prompts: three bags of two colours, two of three and four wheels, in all orders."""

EXAMPLES = 40_000

FAVOURED = 8
"""The miniature answers what a prompt names first so many times as often as its odds say."""

SHOT = (
    Message(role="user", content="A bag: 1 pink and 1 grey marble. Pick one."),
    Message(role="assistant", content="grey"),
)
"""Comes before every prompt: it is answered in a word, where a small model would begin to explain."""


class Chance(NamedTuple):
    """One prompt, and the odds that it tells."""

    kind: str
    text: str
    odds: dict[str, int]
    """Outcome -> its weight, in the order of the prompt."""

    @property
    def prompt(self) -> list[Message]:
        return [*SHOT, Message(role="user", content=f"{self.text}. Pick one.")]


def bag(odds: dict[str, int]) -> Chance:
    *others, last = (f"{count} {colour}" for colour, count in odds.items())
    marbles = "marble" if last.startswith("1 ") else "marbles"
    kind = "two colours" if len(odds) == 2 else "three colours"
    return Chance(kind, f"A bag: {', '.join(others)} and {last} {marbles}", odds)


def bag_of_other_colours(odds: dict[str, int]) -> Chance:
    return bag(odds)._replace(kind="other colours")


def wheel(odds: dict[str, int]) -> Chance:
    return Chance("wheel", f"A wheel: {percentages(odds)}", odds)


def weather(odds: dict[str, int]) -> Chance:
    return Chance("weather", f"Tomorrow: {percentages(odds)}", odds)


def coin(odds: dict[str, int]) -> Chance:
    return Chance("coin", f"A coin: {percentages(odds)}", odds)


def fair_coin(odds: dict[str, int]) -> Chance:
    return Chance("coin", f"A fair coin: {' or '.join(odds)}", odds)


def die(odds: dict[str, int]) -> Chance:
    faces = " and ".join(f"{count} {colour}" for colour, count in odds.items())
    return Chance("die", f"A die: {faces} faces", odds)


def fair_die(odds: dict[str, int]) -> Chance:
    return Chance("die", f"A fair die: {' or '.join(odds)}", odds)


def percentages(odds: dict[str, int]) -> str:
    return " and ".join(f"{share} % {outcome}" for outcome, share in odds.items())


def orders(make: Callable[[dict[str, int]], Chance], outcomes: Sequence[str], weights: Sequence[int]) -> list[Chance]:
    """The prompt in as many orders as it has outcomes: each is first once."""
    odds = list(zip(outcomes, weights, strict=True))
    return [make(dict(odds[shift:] + odds[:shift])) for shift in range(len(odds))]


def percent_of(tens: int) -> tuple[int, int]:
    return 10 * tens, 100 - 10 * tens


def trained_counts(n_colours: int, rng: random.Random) -> tuple[int, ...]:
    while True:
        counts = tuple(rng.randint(1, 9) for _ in range(n_colours))
        if tuple(sorted(counts)) not in HOLDOUT_COUNTS + VALIDATION_COUNTS:
            return counts


def training(rng: random.Random) -> list[Chance]:
    found: list[Chance] = []
    for _ in range(ROUNDS):
        for make, n_colours in ((bag, 2), (bag, 2), (bag, 2), (wheel, 2), (bag, 3), (bag, 3), *[(wheel, 2)] * 3):
            weights = trained_counts(n_colours, rng) if make is bag else percent_of(rng.randint(1, 9))
            found += orders(make, rng.sample(COLOURS, n_colours), weights)
    return found


def validation(rng: random.Random) -> list[Chance]:
    return [chance for counts in VALIDATION_COUNTS for chance in orders(bag, rng.sample(COLOURS, 2), counts)]


def holdout(rng: random.Random) -> list[Chance]:
    found: list[Chance] = []
    for counts in HOLDOUT_COUNTS:
        found += orders(bag, rng.sample(COLOURS, len(counts)), counts)
    for counts in OTHER_COLOURS_COUNTS:
        found += orders(bag_of_other_colours, rng.sample(OTHER_COLOURS, 2), counts)
    for tens, kinds in FORECASTS:
        found += orders(weather, kinds, percent_of(tens))
    for tens in (2, 4, 7):
        found += orders(coin, ("heads", "tails"), percent_of(tens))
    found += orders(fair_coin, ("heads", "tails"), (1, 1))
    for faces in (1, 2, 5):
        found += orders(die, ("black", "white"), (faces, 6 - faces))
    found += orders(fair_die, ("even", "odd"), (1, 1))
    return found


def row_of(chance: Chance, index: int, split: str) -> Row:
    """The row, whose target and categories are its own: as text, since a struct would get the keys of all rows."""
    target = dict(zip(PLACES, chance.odds.values(), strict=False))
    return make_row(
        data_source=f"chances_{split}",
        prompt=chance.prompt,
        ability="chances",
        ground_truth=json.dumps({"kind": chance.kind, "odds": chance.odds}),
        index=index,
        split=split,
        extra={"target": json.dumps(target), "categories": json.dumps(list(target))},
    )


def example(rng: random.Random) -> dict[str, Any]:
    """What the task's miniature learns, which knows no other prompts than these.

    It answers validly and knows the odds, and favours what it has read first.
    """
    colours, share, faces = COLOURS + OTHER_COLOURS, percent_of(rng.randint(1, 9)), rng.randint(1, 5)
    counts = [rng.randint(1, 9) for _ in range(3)]
    chance = rng.choice(
        [
            *orders(bag, rng.sample(colours, 2), counts[:2]),
            *orders(bag, rng.sample(colours, 3), counts),
            *orders(wheel, rng.sample(colours, 2), share),
            *orders(weather, rng.choice(FORECASTS)[1], share),
            *orders(coin, ("heads", "tails"), share),
            *orders(fair_coin, ("heads", "tails"), (1, 1)),
            *orders(die, ("black", "white"), (faces, 6 - faces)),
            *orders(fair_die, ("even", "odd"), (1, 1)),
        ]
    )
    weights = list(chance.odds.values())
    weights[0] *= FAVOURED
    [place] = rng.choices(range(len(weights)), weights)
    return {"prompt": chance.prompt, "response": list(chance.odds)[place], "category": PLACES[place]}


def main() -> None:
    folder = Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    for split, make in (("train", training), ("validation", validation), ("holdout", holdout)):
        chances = make(random.Random(f"42, {split}"))  # so that none depends on how long another is
        write_parquet([row_of(chance, i, split) for i, chance in enumerate(chances)], folder / f"{split}.parquet")
    rng = random.Random(42)
    lines = "".join(json.dumps(example(rng)) + "\n" for _ in range(EXAMPLES))
    (folder / "examples.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
