"""The miniature of GSM8K, MATH or CodeContests: problems made here, in the rows, splits and files of the real one.

    python -m data_prep.miniature --task gsm8k|math|code_contests --local_save_dir DIR [--seed 42]

A stand-in for a machine without a GPU, and no benchmark: two-step sums of small numbers, and programs that print one
expression of two integers (madrl.miniature). No calculation, and no pair of task and wording, is in two splits. Writes
train.parquet, selection.parquet, validation.parquet, holdout.parquet and manifest.json; the programs' tests go to
tests/, one file a problem. The same arguments give the same bytes.
"""

import argparse
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data_prep.command_line import Parser, run
from data_prep.save_folder import filling, write_splits
from madrl.miniature import arithmetic, programs
from madrl.schema import Row, make_row
from madrl.tasks import TASKS

SIZES = {"train": 2048, "selection": 200, "validation": 60, "holdout": 200}
"""Arithmetic problems in each split. The last three sizes are those of the real data."""

PROGRAM_SHARES = {"train": 0.6, "selection": 0.1, "validation": 0.15, "holdout": 0.15}
"""The share of all program problems that goes to each split."""

TESTS = 4
"""Tests of each program problem."""

ABILITY = {"gsm8k": "math", "math": "math", "code_contests": "code"}


def prepare(args: argparse.Namespace) -> list[str]:
    """Write the dataset. Returns what to tell the user."""
    task, save_dir, seed = str(args.task), Path(args.local_save_dir), int(args.seed)
    with filling(save_dir) as folder:
        rows = program_rows(folder, save_dir, seed) if task == "code_contests" else arithmetic_rows(task, seed)
        return write_splits(folder, f"{task}_miniature", seed, rows)


def arithmetic_rows(task: str, seed: int) -> dict[str, list[Row]]:
    """Split -> rows. A calculation belongs to one split for good, whatever the seed, so that a model warm-started on
    other problems of the training split has met none of the evaluation's."""
    made: dict[str, list[Row]] = {}
    for split, size in SIZES.items():
        rng = random.Random(f"{seed}/{task}/{split}")
        found: dict[str, arithmetic.ArithmeticProblem] = {}
        while len(found) < size:
            problem = arithmetic.problem(task, rng)
            if arithmetic.split_of(problem) == split:
                found.setdefault(problem.text, problem)
        made[split] = [
            _row(task, split, i, TASKS[task].prompt(problem.text), str(problem.answer), problem._asdict())
            for i, problem in enumerate(found.values())
        ]
    return made


def program_rows(folder: Path, save_dir: Path, seed: int) -> dict[str, list[Row]]:
    """Split -> rows, their tests written to ``folder/tests``, which will be ``save_dir/tests``."""
    tests_dir = folder / "tests"
    tests_dir.mkdir()
    problems = sorted(programs.problems(), key=lambda problem: zlib.crc32(problem.text.encode()))
    made: dict[str, list[Row]] = {}
    start = 0
    for split, share in PROGRAM_SHARES.items():
        end = start + round(share * len(problems))
        made[split] = []
        for i, problem in enumerate(problems[start:end]):
            tests = programs.tests(problem, TESTS, random.Random(f"{seed}/{problem.text}"))
            content = json.dumps({"tests": tests})
            name = f"{hashlib.sha256(content.encode()).hexdigest()}.json"
            (tests_dir / name).write_text(content)
            truth = json.dumps({"tests_file": str(save_dir.resolve() / "tests" / name)})
            made[split].append(
                _row("code_contests", split, i, TASKS["code_contests"].prompt(problem.text), truth, problem._asdict())
            )
        start = end
    return made


def _row(task: str, split: str, index: int, prompt: str, ground_truth: str, problem: dict[str, Any]) -> Row:
    """One row. ``problem`` is kept as JSON: the warm start makes worked solutions of it."""
    return make_row(
        data_source=f"{task}_miniature_{split}",
        prompt=prompt,
        ability=ABILITY[task],
        ground_truth=ground_truth,
        index=index,
        split=split,
        extra={"problem": problem["text"], "miniature": json.dumps(problem)},
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = Parser("miniature", "Write a miniature of one of the real datasets as veRL parquet files.")
    parser.add_argument(
        "--task",
        choices=[name for name, task in TASKS.items() if task.miniature_script],
        required=True,
        help="which one",
    )
    return run(parser, prepare, argv)


if __name__ == "__main__":
    sys.exit(main())
