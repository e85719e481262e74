"""The red team's table: for each exploit, the share of its texts that get what they are after, and what that pays.

    python tests/redteam/table.py [--write AFTER.json] [--before BEFORE.json] [NAME ...]

Programs are judged by the service that MADRL_SANDBOX_URLS names. With --before, another run's numbers stand beside.
"""

import argparse
import json
import sys
from pathlib import Path

from exploit import measure
from exploits import EXPLOITS

from madrl.files import replacing
from madrl.report.table import formatted


def main() -> None:
    """Measure the exploits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only exploits whose names contain one of these")
    parser.add_argument("--write", type=Path, help="the numbers go to this JSON file too")
    parser.add_argument("--before", type=Path, help="what --write wrote for another version")
    parser.add_argument("-n", type=int, default=200, help="texts of each exploit (%(default)s)")
    args = parser.parse_args()
    before = json.loads(args.before.read_text()) if args.before else {}
    numbers = {}
    for name, exploit in EXPLOITS.items():
        if args.names and not any(part in name for part in args.names):
            continue
        outcome = measure(exploit, args.n)
        numbers[name] = {key: value for key, value in outcome._asdict().items() if key not in ("name", "grades")}
        print(f"{outcome.wanted:6.1%} {outcome.both:6.1%} {outcome.gain:+.2f}  {name}", file=sys.stderr, flush=True)
    print("| exploit | texts | category: before | after | full reward: before | after | gain: before | after |")
    print("| :-- |" + " --: |" * 7)
    for name, found in numbers.items():
        was = before.get(name, {})
        shares = [formatted(run.get(key), ".1%") for key in ("wanted", "both") for run in (was, found)]
        gains = [formatted(run.get("gain"), "+.2f") for run in (was, found)]
        print(f"| {name} | {found['attempts']} | " + " | ".join(shares + gains) + " |")
    if args.write:
        with replacing(args.write) as partial:
            partial.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
