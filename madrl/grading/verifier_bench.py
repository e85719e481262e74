"""How right and how fast the math verifier is:
``python -m madrl.grading.verifier_bench PAIRS.jsonl [--scorer pkg.module:name]``.

PAIRS holds lines ``{"gold": reference, "pred": response, "expected": true or false}``, with ``group`` or ``source`` for
a table by group. Beside ``verify_math`` it scores math-verify alone (its defaults, one process) and any number of
``--scorer``: functions of response and reference, in this order, that return a number, a truth value or a dict with
``acc``; above one half is correct. So ``--scorer verl.utils.reward_score.gsm8k:compute_score`` compares with veRL's.
"""

import argparse
import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.math_answers.math_answer import verify_math
from madrl.grading.plugins import load_plugin
from madrl.rollout import Rollout

Scorer = Callable[[str, str], Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print accuracy, false accepts and rejects, by group, and verdicts per second, for each scorer."""
    parser = argparse.ArgumentParser(
        description="Accuracy and speed of the math verifier, and of others, on labelled pairs."
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--scorer", action="append", default=[], metavar="pkg.module:name")
    options = parser.parse_args(arguments)
    pairs = read_jsonl(options.pairs)
    for number, pair in enumerate(pairs, start=1):
        if not {"gold", "pred", "expected"} <= pair.keys():
            raise MadrlError(f"{options.pairs}, line {number}: needs gold, pred and expected, has {sorted(pair)}")
    logging.disable(logging.CRITICAL)
    _print("verify_math", pairs, *_ours(pairs))
    scorers: dict[str, Scorer] = {"math-verify alone": math_verify_alone}
    scorers |= {spec: load_plugin(spec, {}, "scorer") for spec in options.scorer}
    for name, scorer in scorers.items():
        _print(name, pairs, *_timed(scorer, pairs))


def math_verify_alone(response: str, reference: str) -> bool:
    """math-verify as its own documentation uses it."""
    import math_verify  # type: ignore[import-untyped]

    return bool(math_verify.verify(math_verify.parse(f"${reference}$"), math_verify.parse(response)))


def _ours(pairs: list[dict[str, Any]]) -> tuple[list[bool | None], float]:
    async def judge() -> tuple[list[bool | None], float]:
        # The libraries' first load, once in a run, is no part of the rate.
        await asyncio.gather(*(verify_math(Rollout(rf"\boxed{{{n} + x}}", f"x+{n}+0")) for n in range(8)))
        start = time.perf_counter()
        done = await asyncio.gather(*(verify_math(Rollout(pair["pred"], pair["gold"])) for pair in pairs))
        elapsed_s = time.perf_counter() - start
        return [None if found.correctness is None else found.correctness == 1 for found in done], elapsed_s

    return asyncio.run(judge())


def _timed(scorer: Scorer, pairs: list[dict[str, Any]]) -> tuple[list[bool | None], float]:
    start = time.perf_counter()
    verdicts: list[bool | None] = []
    for pair in pairs:
        try:
            score = scorer(pair["pred"], pair["gold"])
        except Exception:  # a scorer under comparison may fail in any way: then it gave no verdict
            verdicts.append(None)
            continue
        verdicts.append(float(score["acc"] if isinstance(score, dict) else score) > 0.5)
    return verdicts, time.perf_counter() - start


def _print(name: str, pairs: list[dict[str, Any]], verdicts: list[bool | None], elapsed_s: float) -> None:
    groups: dict[str, list[tuple[bool, bool | None]]] = defaultdict(list)
    for pair, verdict in zip(pairs, verdicts, strict=True):
        groups[str(pair.get("group", pair.get("source", "")))].append((pair["expected"], verdict))
    everything = [case for cases in groups.values() for case in cases]
    print(f"\n{name}: {_summary(everything)}, {len(pairs) / elapsed_s:,.0f} verdicts/s")
    for group, cases in sorted(groups.items()):
        print(f"  {group:24} {_summary(cases)}")


def _summary(cases: list[tuple[bool, bool | None]]) -> str:
    right = sum(expected == verdict for expected, verdict in cases)
    accepts = sum(not expected and verdict is True for expected, verdict in cases)
    rejects = sum(expected and verdict is False for expected, verdict in cases)
    ungraded = sum(verdict is None for _, verdict in cases)
    return (
        f"{right}/{len(cases)} right ({right / len(cases):.1%}), {accepts} false accepts, {rejects} false rejects, "
        f"{ungraded} without a verdict"
    )


if __name__ == "__main__":
    main()
