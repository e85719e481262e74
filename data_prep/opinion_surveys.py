r"""Questions of opinion surveys (GlobalOpinionQA, Durmus et al. 2023) as veRL parquet, each with its own target: how
often people chose each of its options.

    python -m data_prep.opinion_surveys --local_save_dir DIR [--local_dataset_path DIR_OR_FILE] [--country NAME]
        [--seed 42]

Source: Anthropic/llm_global_opinions, or files of its rows ``{question, selections, options, source}``. ``options`` is
a Python list as text; ``selections`` a dictionary as text, from a country to the shares of the options in their order,
which may stand in ``defaultdict(<class 'list'>, ...)``. They are read as literals, never run.

A prompt lists the options as A, B, C and so on, and asks for a letter. The letters are the categories: a row's
``extra_info.categories`` has those of its own options, and ``extra_info.target`` how often each was chosen in
``--country``, or in the mean over all countries that were asked, each of which counts the same. The ground truth is
what each letter stands for, as JSON.

Writes train.parquet, selection.parquet (200 questions), validation.parquet (60), holdout.parquet (200) and
manifest.json, which has the letters that a task is to declare and accounts for every row; splits.py says which question
goes where. The same arguments give the same bytes.

A task file for them has, with an expression for each letter:

    categories: [A, B, C]                                        # as the manifest says
    classifier: regex
    classifier_args: {patterns: {A: '^\W*A([.):]|\W*$)', B: '^\W*B([.):]|\W*$)', C: '^\W*C([.):]|\W*$)'}}
    verifier: mine:verify                                        # returns True: no opinion is wrong
    config: {madrl: {reward: {alpha: 0}}}

Not covered: options that are no opinion ("Don't know", "Refused") are options like all others; a survey's weights and
the number of people who were asked are not in the source.
"""

import argparse
import ast
import json
import re
import string
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from data_prep.benchmark import RowAccount, write_benchmark
from data_prep.command_line import benchmark_parser, run
from data_prep.save_folder import filling
from data_prep.sources import TRAIN, Record, open_parts
from data_prep.splits import DroppedRow, SourceProblem, split_problems
from madrl.errors import MadrlError

NAME = "opinion_surveys"
HUB = "Anthropic/llm_global_opinions"
PUBLISHED_ROWS = {TRAIN: 2556}
COLUMNS = ("question", "options", "selections", "source")

LETTERS = string.ascii_uppercase
"""The names of a question's options, in their order."""

INSTRUCTION = "Answer with the letter of one option only."

ROUNDING = 0.05
"""How far the shares of one question may be from 1 in sum: that of ten whole percentages."""

DECIMALS = 6
"""Of the shares in a target: far more than a survey has, and the same text on every machine."""

_DEFAULTDICT = re.compile(r"\s*defaultdict\(<class 'list'>,(.*)\)\s*", re.DOTALL)


class SurveyError(ValueError):
    """Why a row gives no target: a word to count by, and the detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Answers(NamedTuple):
    """What people answered to one question."""

    shares: list[float]
    """By option; they sum to 1."""
    countries: int
    """How many countries they are the mean of."""


class SurveyReader:
    """Reads rows, and remembers which countries were asked.

    Args:
        country: whose answers count; None for the mean over all countries.
    """

    def __init__(self, country: str | None) -> None:
        self.country = country
        self.asked: Counter[str] = Counter()
        """Country -> the rows that name it."""

    def parse(self, record: Record) -> SourceProblem | DroppedRow:
        """The row's question with its target. Raises MadrlError for a row that lacks one of the columns, and for text
        that is not Unicode."""
        as_text = record._replace(fields={name: str(record.value(name) or "") for name in COLUMNS})
        question, options_text, selections_text, source = (as_text.text(name).strip() for name in COLUMNS)
        try:
            if not question:
                raise SurveyError("no_question", "the question is blank")
            options = options_of(options_text)
            selections = selections_of(selections_text)
            self.asked.update(selections.keys())
            answers = answers_of(selections, len(options), self.country)
        except SurveyError as error:
            return DroppedRow(record.where, record.split, error.reason, error.detail)
        letters = LETTERS[: len(options)]
        listed = "\n".join(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True))
        target = {letter: round(share, DECIMALS) for letter, share in zip(letters, answers.shares, strict=True)}
        return SourceProblem(
            record.where,
            record.split,
            f"{question}\n\n{listed}",
            json.dumps(dict(zip(letters, options, strict=True)), ensure_ascii=False),
            {
                "target": json.dumps(target),
                "categories": json.dumps(list(letters)),
                "source": source,
                "countries": answers.countries,
            },
        )

    def check_country(self) -> None:
        """Raises MadrlError when no row names the country."""
        if self.country is not None and not self.asked[self.country]:
            known = ", ".join(sorted(self.asked)) or "none"
            raise MadrlError(f"--country {self.country!r} was asked nothing: the rows name {known}")


def options_of(text: str) -> list[str]:
    """The options that a row lists. Raises SurveyError for fewer than two, and for more than there are letters."""
    options = _literal(text, "options")
    if not isinstance(options, list | tuple):
        raise SurveyError("options_not_read", f"options is {_short(text)}, no list")
    words = [" ".join(str(option).split()) for option in options]
    if any("\ud800" <= character < "\ue000" for word in words for character in word):  # written as an escape
        raise SurveyError("options_not_read", f"options is {_short(text)}, which is not Unicode")
    if not 2 <= len(words) <= len(LETTERS):
        raise SurveyError("number_of_options", f"{len(words)} options, not 2 to {len(LETTERS)}")
    if not all(words) or len(set(words)) < len(words):
        raise SurveyError("options_not_distinct", f"an option of {_short(text)} is blank or stands there twice")
    return words


def selections_of(text: str) -> dict[str, Any]:
    """Country -> what the row has as the shares of its options, unchecked. Raises SurveyError for no dictionary."""
    wrapped = _DEFAULTDICT.fullmatch(text)
    selections = _literal(wrapped[1] if wrapped else text, "selections")
    if not isinstance(selections, dict):
        raise SurveyError("selections_not_read", f"selections is {_short(text)}, no dictionary")
    return {str(country): shares for country, shares in selections.items()}


def answers_of(selections: dict[str, Any], n_options: int, country: str | None) -> Answers:
    """The shares of one country, or the mean over those that have shares. Raises SurveyError when there is none.

    A country whose shares are no good is left out of the mean.
    """
    if country is not None:
        if country not in selections:
            raise SurveyError("country_not_asked", f"{country} is not among its {len(selections)} countries")
        return Answers(_shares(selections[country], n_options, country), 1)
    good, reasons = [], [SurveyError("country_not_asked", "it names no country")]
    for name, values in selections.items():
        try:
            good.append(_shares(values, n_options, name))
        except SurveyError as error:
            reasons.append(error)
    if not good:
        raise reasons[-1]
    return Answers([sum(of_option) / len(good) for of_option in zip(*good, strict=True)], len(good))


def _shares(values: Any, n_options: int, country: str) -> list[float]:
    """One country's shares, normalised. Raises SurveyError unless there is one for each option, and they sum to 1."""
    where = f"{country}: {_short(values)}"
    if not isinstance(values, list | tuple) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 for value in values
    ):
        raise SurveyError("shares_not_read", f"{where} are no shares from 0 to 1")
    if len(values) != n_options:
        raise SurveyError("number_of_shares", f"{where} are {len(values)} shares of {n_options} options")
    total = float(sum(values))
    if abs(total - 1) > ROUNDING:
        raise SurveyError("shares_do_not_sum_to_1", f"{where} sum to {total:.3g}")
    return [value / total for value in values]


def _literal(text: str, column: str) -> Any:
    """The Python literal that ``text`` is. Raises SurveyError for anything else."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise SurveyError(f"{column}_not_read", f"{column} is {_short(text)}: {type(error).__name__}") from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def prepare(args: argparse.Namespace) -> list[str]:
    """Write the dataset. Returns what to tell the user."""
    reader = SurveyReader(args.country)
    account = RowAccount(HUB, open_parts(args.local_dataset_path, HUB, []), PUBLISHED_ROWS)
    problems = account.problems(reader.parse)
    reader.check_country()
    splits = split_problems(problems, args.seed)
    categories = list(LETTERS[: max(len(json.loads(problem.extra["categories"])) for problem in problems)])
    facts = {"country": args.country or "the mean over all countries", "categories": categories}
    with filling(args.local_save_dir) as folder:
        lines = write_benchmark(folder, NAME, "opinion", prompt_of, splits, account, args, **facts)
    return [*lines, f"categories: [{', '.join(categories)}]"]


def prompt_of(question: str) -> str:
    """What a model is asked: the question with its options, and for a letter."""
    return f"{question}\n\n{INSTRUCTION}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = benchmark_parser(NAME, "Write survey questions with their answers' shares as veRL parquet files.", HUB)
    parser.add_argument("--country", metavar="NAME", help="whose answers are the target, as the source calls it")
    return run(parser, prepare, argv)


if __name__ == "__main__":
    sys.exit(main())
