"""SYNTHETIC: 64 topics of five options each, ten prompts per topic, as veRL parquet (paper, "Tasks and Datasets").

    python -m data_prep.synthetic --local_save_dir DIR --form closed|open [--seed 42]

Writes train.parquet (48 topics, 480 rows), validation.parquet and holdout.parquet (8 topics, 80 rows each),
train_probe.parquet (80 of the training prompts, to evaluate on before and after) and manifest.json. The open form is
the closed form without the options clause: the same topics, splits and rows. The same arguments give the same bytes.
The paper gives 64 topics, ten templates and 80 held-out prompts from 8 topics; the topics are our own.
"""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple

from data_prep.command_line import Parser, run
from data_prep.save_folder import filling, write_splits
from madrl.errors import MadrlError
from madrl.grading.choice import CHOICE_CATEGORIES, alphabetical, choice_ground_truth
from madrl.prompts import CHOICE_QUESTIONS, choice_prompt
from madrl.schema import Row, make_row

TOPICS_FILE = Path(__file__).with_name("synthetic_topics.json")

FORMS = ("closed", "open")

TOPICS_PER_SPLIT = {"train": 48, "validation": 8, "holdout": 8}

PROBE = "train_probe"
PROBE_ROWS = 80
"""The probe has as many rows as validation, because the two are compared."""


def load_topics(path: Path = TOPICS_FILE) -> dict[str, tuple[str, ...]]:
    """Topic -> its five options in category order. Raises MadrlError unless there are as many topics as the splits
    take."""
    topics = {topic: alphabetical(options) for topic, options in json.loads(path.read_text("utf-8")).items()}
    if len(topics) != sum(TOPICS_PER_SPLIT.values()):
        raise MadrlError(f"{path} has {len(topics)} topics: the splits {TOPICS_PER_SPLIT} take each exactly once")
    return topics


def split_topics(topics: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Split -> its topics, disjoint; ``seed`` decides which."""
    shuffled = iter(random.Random(f"{seed}/splits").sample(sorted(topics), len(topics)))
    return {split: list(islice(shuffled, size)) for split, size in TOPICS_PER_SPLIT.items()}


class ChoicePrompt(NamedTuple):
    """One prompt, with the topic and the template that it was made of."""

    topic: str
    template: int
    text: str


def topic_prompts(topic: str, options: Sequence[str], form: str, seed: int) -> list[ChoicePrompt]:
    """The topic's ten prompts, one per template, each listing the options in an order of its own.

    The orders depend on nothing but ``seed`` and the topic.
    """
    orders = random.Random(f"{seed}/orders/{topic}").sample(list(permutations(options)), len(CHOICE_QUESTIONS))
    return [
        ChoicePrompt(topic, template, choice_prompt(topic, template, order if form == "closed" else None))
        for template, order in enumerate(orders)
    ]


def split_prompts(topics: Mapping[str, Sequence[str]], form: str, seed: int) -> dict[str, list[ChoicePrompt]]:
    """Split -> its prompts: the three splits of the topics, and the probe drawn from the training prompts."""
    prompts = {
        split: [prompt for topic in names for prompt in topic_prompts(topic, topics[topic], form, seed)]
        for split, names in split_topics(list(topics), seed).items()
    }
    probed = random.Random(f"{seed}/probe").sample(range(len(prompts["train"])), PROBE_ROWS)
    prompts[PROBE] = [prompts["train"][i] for i in sorted(probed)]
    return prompts


def choice_row(prompt: ChoicePrompt, options: Sequence[str], form: str, split: str, index: int) -> Row:
    """The veRL row of one prompt. Its data source names the split: veRL averages validation metrics per data source."""
    return make_row(
        data_source=f"synthetic_{form}_{split}",
        prompt=prompt.text,
        ability="choice",
        ground_truth=choice_ground_truth(options),
        index=index,
        split=split,
        extra={"cluster": prompt.topic, "template": prompt.template, "form": form, "options": list(options)},
    )


def write_dataset(save_dir: Path, form: str, seed: int) -> list[str]:
    """Write the four parquet files and the manifest into ``save_dir``, made if need be. Returns a line about each file.

    Raises MadrlError for a form that does not exist and OSError when ``save_dir`` cannot be written.
    """
    if form not in FORMS:
        raise MadrlError(f"unknown form {form!r}: use one of {list(FORMS)}")
    topics = load_topics()
    prompts = split_prompts(topics, form, seed)
    rows = {
        split: [choice_row(prompt, topics[prompt.topic], form, split, i) for i, prompt in enumerate(chosen)]
        for split, chosen in prompts.items()
    }
    named = {split: list(dict.fromkeys(prompt.topic for prompt in chosen)) for split, chosen in prompts.items()}
    with filling(save_dir) as folder:
        return write_splits(
            folder, "synthetic", seed, rows, form=form, categories=list(CHOICE_CATEGORIES), topics=named
        )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = Parser("synthetic", "Write the SYNTHETIC choice dataset as veRL parquet files.")
    parser.add_argument("--form", choices=FORMS, required=True, help="closed lists the options, open does not")
    return run(parser, lambda args: write_dataset(args.local_save_dir, args.form, args.seed), argv)


if __name__ == "__main__":
    sys.exit(main())
