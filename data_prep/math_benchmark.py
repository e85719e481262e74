"""GSM8K and MATH after their rows are parsed: references checked, splits made, files written.

A row whose own reference the verifier does not accept would teach that right answers are wrong: it is dropped.
"""

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence

from data_prep.benchmark import RowAccount, write_benchmark
from data_prep.command_line import benchmark_parser, run
from data_prep.save_folder import filling
from data_prep.sources import Record, open_parts
from data_prep.splits import DroppedRow, SourceProblem, split_problems
from madrl.errors import MadrlError
from madrl.grading.verifiers import load_verifier
from madrl.progress import progress
from madrl.rollout import Rollout, Verdict
from madrl.tasks import TASKS

AT_A_TIME = 64
"""Answers in the verifier's hands: enough for all its workers, too few to fill its queue."""

Parse = Callable[[Record], SourceProblem | DroppedRow]


def prepare_math(
    module: str,
    name: str,
    hub: str,
    configs: Sequence[str],
    published_rows: Mapping[str, int],
    parse: Parse,
    argv: Sequence[str] | None,
) -> int:
    """The command line of the module that prepares the benchmark ``name``, whose rows ``parse`` turns into problems.
    Returns the exit status."""
    parser = benchmark_parser(module, f"Write {name.upper()} as veRL parquet files.", hub)

    def prepare(args: argparse.Namespace) -> list[str]:
        account = RowAccount(hub, open_parts(args.local_dataset_path, hub, configs), published_rows)
        problems = account.problems(parse)
        problems = account.keep(problems, rejected_references(problems))
        splits = split_problems(problems, args.seed)
        with filling(args.local_save_dir) as folder:
            return write_benchmark(folder, name, "math", TASKS[name].prompt, splits, account, args)

    return run(parser, prepare, argv)


def rejected_references(problems: Sequence[SourceProblem]) -> dict[str, DroppedRow]:
    """Origin -> the dropped row, for every problem whose reference, boxed as a model would write it, is not CORRECT.

    Raises MadrlError when one cannot be graded here and now, which says nothing about the problem.
    """
    return asyncio.run(_rejected_references(problems))


async def _rejected_references(problems: Sequence[SourceProblem]) -> dict[str, DroppedRow]:
    verify = load_verifier("math")
    turns = asyncio.Semaphore(AT_A_TIME)
    drops: dict[str, DroppedRow] = {}
    with progress("verifying references", len(problems)) as advance:

        async def check(problem: SourceProblem) -> None:
            async with turns:
                response = f"The answer is \\boxed{{{problem.ground_truth}}}."
                verification = await verify(Rollout(response, problem.ground_truth))
            if verification.verdict is Verdict.UNGRADED and verification.reason != "bad_reference":
                raise MadrlError(
                    f"{problem.origin}: the reference {problem.ground_truth!r} could not be graded: "
                    f"{verification.reason}. Run this again, with more memory or fewer other processes"
                )
            if verification.verdict is not Verdict.CORRECT:
                detail = f"{problem.ground_truth!r} is {verification.verdict}: {verification.reason}"
                drops[problem.origin] = DroppedRow(problem.origin, problem.source_split, "reference_rejected", detail)
            advance(1)

        await asyncio.gather(*map(check, problems))
    return drops
