r"""MATH (Hendrycks et al. 2021) as veRL parquet.

    python -m data_prep.hendrycks_math --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--seed 42]

Source: EleutherAI/hendrycks_math, one configuration for each subject, or files of its rows ``{problem, level, type,
solution}``, which may have an ``answer`` besides. Writes train.parquet (the training pool), selection.parquet (200
problems to choose a warm-start checkpoint on), validation.parquet (60), holdout.parquet (200) and manifest.json;
splits.py says which problem goes where. The same arguments give the same bytes. The ground truth is what the solution's
last ``\boxed`` holds; an ``answer`` that says something else drops the row.
"""

import sys
from collections.abc import Sequence

from data_prep.math_benchmark import prepare_math
from data_prep.sources import TEST, TRAIN, Record
from data_prep.splits import DroppedRow, SourceProblem
from madrl.grading.math_answers.answer_text import last_boxed

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


def parse(record: Record) -> SourceProblem | DroppedRow:
    """The row's problem, its reference parsed. Raises MadrlError for a row that is not MATH's."""
    problem, level, subject = (record.text(field).strip() for field in ("problem", "level", "type"))
    reference = last_boxed(record.text("solution"))
    if not problem:
        return DroppedRow(record.where, record.split, "no_problem", "the problem is blank")
    if reference is None:
        return DroppedRow(record.where, record.split, "no_reference", "the solution boxes nothing")
    if "answer" in record.fields and record.text("answer").strip() != reference:
        detail = f"the solution boxes {reference!r}, the answer is {record.text('answer')!r}"
        return DroppedRow(record.where, record.split, "answer_disagrees", detail)
    return SourceProblem(record.where, record.split, problem, reference, {"level": level, "subject": subject})


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    return prepare_math("hendrycks_math", NAME, HUB, CONFIGS, PUBLISHED_ROWS, parse, argv)


if __name__ == "__main__":
    sys.exit(main())
