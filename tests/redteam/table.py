"""The red team's table: for each exploit, the share of its texts that get what they are after, and what that pays.

    python tests/redteam/table.py [--write] [-n 200] [NAME ...]

Programs are judged by the service that MADRL_SANDBOX_URLS names. What stands in before/ is what the same texts got of
the version that the exploit was found in. With --write, of all exploits, the table goes into docs/red_team.md.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from exploit import Exploit, Outcome, measure
from exploits import EXPLOITS

from madrl.files import replacing
from madrl.report.table import formatted

PAGE = Path(__file__).parents[2] / "docs" / "red_team.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

AFTER = {"category": "wanted", "verdict": "correct", "both": "both"}
"""What an exploit is after -> the field of the numbers that says how many of its texts got it."""


def before() -> dict[str, Mapping[str, float]]:
    """Exploit -> the numbers of the version that it was found in."""
    files = (Path(__file__).parent / "before").glob("*.json")
    return {name: numbers for file in sorted(files) for name, numbers in json.loads(file.read_text()).items()}


def table(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """The lines of the table, in Markdown."""
    yield "| exploit | after the | texts | got it: before | now | gain: before | now | unusual |\n"
    yield "| :-- | :-- |" + " --: |" * 6 + "\n"
    were = before()
    for name, found in outcomes.items():
        was, after = were.get(name, {}), EXPLOITS[name].after
        cells = (
            formatted(was.get(AFTER[after]), ".1%"), formatted(found.got, ".1%"), formatted(was.get("gain"), "+.2f"),
            formatted(found.gain, "+.2f"), formatted(found.unusual, ".0%"),
        )  # fmt: skip
        yield f"| {name} | {after} | {found.attempts} | " + " | ".join(cells) + " |\n"


def _measured(name: str, exploit: Exploit, n: int) -> Outcome:
    outcome = measure(exploit, n)
    print(f"{outcome.got:6.1%} {outcome.gain:+.2f}  {name}", file=sys.stderr, flush=True)
    return outcome


def main() -> None:
    """Measure the exploits and print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only exploits whose names contain one of these")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    parser.add_argument("-n", type=int, default=200, help="texts of each exploit (%(default)s)")
    args = parser.parse_args()
    if args.write and args.names:
        parser.error("--write is for the table of all exploits: name none")
    chosen = [name for name in EXPLOITS if not args.names or any(part in name for part in args.names)]
    text = "".join(table({name: _measured(name, EXPLOITS[name], args.n) for name in chosen}))
    if not args.write:
        print(text, end="")
        return
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    with replacing(PAGE) as partial:
        partial.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
