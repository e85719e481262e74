r"""MATH (Hendrycks et al. 2021) as veRL parquet.

    python data_prep/hendrycks_math.py --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--seed 42]

Source: EleutherAI/hendrycks_math, one configuration for each subject, or files of its rows ``{problem, level, type,
solution}``, which may have an ``answer`` besides. Writes train.parquet (the training pool), selection.parquet (200
problems to choose a warm-start checkpoint on), validation.parquet (60), holdout.parquet (200) and manifest.json;
splits.py says which problem goes where. The same arguments give the same bytes. The ground truth is what the solution's
last ``\boxed`` holds; an ``answer`` that says something else drops the row.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmark import Ledger, write_benchmark
from command_line import benchmark_parser, run, source
from reference_answers import rejected_references
from save_folder import filling
from sources import TEST, TRAIN, Record, open_parts
from splits import Dropped, Problem, split_problems

from madrl.grading.math_answers.answer_text import last_boxed
from madrl.tasks import TASKS

NAME = "math"
HUB = "EleutherAI/hendrycks_math"
CONFIGS = (
    "algebra",
    "counting_and_probability",
    "geometry",
    "intermediate_algebra",
    "number_theory",
    "prealgebra",
    "precalculus",
)
PUBLISHED_ROWS = {TRAIN: 7500, TEST: 5000}


def parse(record: Record) -> Problem | Dropped:
    """The row's problem, its reference parsed. Raises MadrlError for a row that is not MATH's."""
    problem, level, subject = (record.text(field).strip() for field in ("problem", "level", "type"))
    reference = last_boxed(record.text("solution"))
    if not problem:
        return Dropped(record.where, record.split, "no_problem", "the problem is blank")
    if reference is None:
        return Dropped(record.where, record.split, "no_reference", "the solution boxes nothing")
    if "answer" in record.fields and record.text("answer").strip() != reference:
        detail = f"the solution boxes {reference!r}, the answer is {record.text('answer')!r}"
        return Dropped(record.where, record.split, "answer_disagrees", detail)
    return Problem(record.where, record.split, problem, reference, {"level": level, "subject": subject})


def prepare(args: argparse.Namespace) -> list[str]:
    """Read, check, split and write; what to tell the user."""
    ledger = Ledger(open_parts(args.local_dataset_path, HUB, CONFIGS), PUBLISHED_ROWS)
    problems = ledger.problems(parse)
    problems = ledger.keep(problems, rejected_references(problems))
    splits = split_problems(problems, args.seed)
    with filling(args.local_save_dir) as folder:
        return write_benchmark(folder, NAME, "math", splits, TASKS["math"].prompt, ledger, source(args, HUB), args.seed)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    return run(benchmark_parser("hendrycks_math.py", "Write MATH as veRL parquet files.", HUB), prepare, argv)


if __name__ == "__main__":
    sys.exit(main())
