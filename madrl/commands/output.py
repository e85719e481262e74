"""What the commands that write responses say of them."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from madrl.grading.grade_file import Graded
    from madrl.sampling.generate import Sampled


def beside(output: str | Path) -> TextIO:
    """The stream on which a command says what it did: not the one on which it writes its responses."""
    from madrl.records import STANDARD

    return sys.stderr if output == STANDARD else sys.stdout


def print_graded(graded: "Graded", done: str, output: str) -> None:
    shares = [(name or "off-support", count, "") for name, count in graded.counts.most_common()]
    _print_shares(f"responses {done}", graded.counts.total(), graded.resumed, output, shares)


def print_generated(done: "Sampled") -> None:
    from madrl.evaluation.metrics import pass_at_1
    from madrl.records import classified, is_ungraded

    shares = []
    for name in (*done.categories, None):
        correct = [line["correct"] for line in classified(done.lines) if line["category"] == name]
        accuracy = pass_at_1(correct)  # of those that were graded
        shares.append((name or "off-support", len(correct), "" if accuracy is None else f"  correct {accuracy:6.1%}"))
    ungraded = sum(map(is_ungraded, done.lines))
    cut_off = sum(line["finish_reason"] == "length" for line in done.lines)
    shares += [(what, count, "") for what, count in (("ungraded", ungraded), ("cut off", cut_off)) if count]
    _print_shares("responses", len(done.lines), done.resumed, done.out, shares)


def _print_shares(
    what: str, total: int, resumed: int, output: str | Path, shares: Iterable[tuple[str, int, str]]
) -> None:
    said = beside(output)
    earlier = f" ({resumed} of them by an earlier call)" if resumed else ""
    print(f"{what}: {total}{earlier}, written to {output}", file=said)
    for name, count, more in shares:
        print(f"  {name:16} {count:8}  {count / total:6.1%}{more}", file=said)
