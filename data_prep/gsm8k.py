"""GSM8K (Cobbe et al. 2021) as veRL parquet.

    python data_prep/gsm8k.py --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--seed 42]

Source: openai/gsm8k, configuration main, or files of its rows ``{question, answer}``, where the answer ends in
``#### N``. Writes train.parquet (the training pool), selection.parquet (200 problems to choose a warm-start checkpoint
on), validation.parquet (60), holdout.parquet (200) and manifest.json; splits.py says which problem goes where. The same
arguments give the same bytes. The ground truth is N without thousands separators.
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

from madrl.errors import MadrlError
from madrl.grading.math_answers.answer_text import gsm8k_answer
from madrl.tasks import TASKS

NAME = "gsm8k"
HUB, CONFIG = "openai/gsm8k", "main"
PUBLISHED_ROWS = {TRAIN: 7473, TEST: 1319}


def parse(record: Record) -> Problem | Dropped:
    """The row's problem, its reference parsed. Raises MadrlError for a row that is not GSM8K's."""
    question, answer = record.text("question").strip(), record.text("answer")
    try:
        reference = gsm8k_answer(answer)
    except MadrlError as error:
        raise MadrlError(f"{record.where}: {error}") from None
    if not question:
        return Dropped(record.where, record.split, "no_problem", "the question is blank")
    return Problem(record.where, record.split, question, reference)


def prepare(args: argparse.Namespace) -> list[str]:
    """Read, check, split and write; what to tell the user."""
    ledger = Ledger(open_parts(args.local_dataset_path, HUB, [CONFIG]), PUBLISHED_ROWS)
    problems = ledger.problems(parse)
    problems = ledger.keep(problems, rejected_references(problems))
    splits = split_problems(problems, args.seed)
    with filling(args.local_save_dir) as folder:
        return write_benchmark(folder, NAME, "math", splits, TASKS[NAME].prompt, ledger, source(args, HUB), args.seed)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    return run(benchmark_parser("gsm8k.py", "Write GSM8K as veRL parquet files.", HUB), prepare, argv)


if __name__ == "__main__":
    sys.exit(main())
