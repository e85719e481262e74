"""GSM8K (Cobbe et al. 2021) as veRL parquet.

    python -m data_prep.gsm8k --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--seed 42]

Source: openai/gsm8k, configuration main, or files of its rows ``{question, answer}``, where the answer ends in
``#### N``. Writes train.parquet (the training pool), selection.parquet (200 problems to choose a warm-start checkpoint
on), validation.parquet (60), holdout.parquet (200) and manifest.json; splits.py says which problem goes where. The same
arguments give the same bytes. The ground truth is N without thousands separators.
"""

import sys
from collections.abc import Sequence

from data_prep.math_benchmark import prepare_math
from data_prep.sources import TEST, TRAIN, Record
from data_prep.splits import DroppedRow, SourceProblem
from madrl.errors import MadrlError
from madrl.grading.math_answers.answer_text import gsm8k_answer

NAME = "gsm8k"
HUB, CONFIG = "openai/gsm8k", "main"
PUBLISHED_ROWS = {TRAIN: 7473, TEST: 1319}


def parse(record: Record) -> SourceProblem | DroppedRow:
    """The row's problem, its reference parsed. Raises MadrlError for a row that is not GSM8K's."""
    question, answer = record.text("question").strip(), record.text("answer")
    try:
        reference = gsm8k_answer(answer)
    except MadrlError as error:
        raise MadrlError(f"{record.where}: {error}") from None
    if not question:
        return DroppedRow(record.where, record.split, "no_problem", "the question is blank")
    return SourceProblem(record.where, record.split, question, reference)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    return prepare_math("gsm8k", NAME, HUB, [CONFIG], PUBLISHED_ROWS, parse, argv)


if __name__ == "__main__":
    sys.exit(main())
