"""Rejection sampling: the training rows asked for each category by name, until there are enough usable responses; and
the finetuning's rows made of those, whose prompts name no category.

A response is usable when it is correct, in the category that was asked for, whole, and the first of its words to its
row. It goes on in rounds over the rows, and a category that has enough is asked no more. What a round asks follows from
what came back before it, so that a call which resumes asks what the one that was stopped would have asked.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.files import replacing
from madrl.grading import normal_form
from madrl.progress import progress
from madrl.records import Record, is_ungraded, name_of
from madrl.sampling.engine import Engines, Sampling, StartSampler
from madrl.sampling.generate import Responses
from madrl.sampling.requests import Request
from madrl.schema import Row
from madrl.warm_start.config import WarmStart

SPARE = 1.1
"""How many responses a round asks for, for each one that is expected to be missing."""

LEAST_ROWS = 64
"""Rows that a round asks at least: fewer would leave an engine idle."""


@dataclass
class Harvest:
    """What came back for one category, in the order of asking."""

    max_prompt_tokens: int
    """The longest prompt that is learnt from, with the category's name in it."""
    asked: int = 0
    on_category: int = 0
    """In the category that was asked for."""
    correct: int = 0
    """In the category that was asked for, and correct."""
    cut_off: int = 0
    """In the category that was asked for, correct, and cut off where a response may be no longer."""
    ungraded: int = 0
    kept: list[Record] = field(default_factory=list)
    """The usable ones: correct, in the category, whole, to a prompt that is not too long, and different from all
    before to the same row."""

    @property
    def yield_(self) -> float:
        """Usable responses of those asked for; 0 when none was."""
        return len(self.kept) / self.asked if self.asked else 0.0

    def add(self, line: Record, seen: set[tuple[int, str]]) -> None:
        """Count one response; ``seen`` are the rows and normalised texts that are there, in any category."""
        self.asked += 1
        self.ungraded += is_ungraded(line)
        if line["category"] != line["asked"]:
            return
        self.on_category += 1
        if line["correct"] != 1:
            return
        self.correct += 1
        cut_off = line["finish_reason"] == "length"
        self.cut_off += cut_off
        example = line["row"], normalized(line["response"])
        fits = line["prompt_tokens"] <= self.max_prompt_tokens
        if not cut_off and fits and example not in seen:
            seen.add(example)
            self.kept.append(line)

    def facts(self) -> dict[str, Any]:
        """The counts as sampling.json keeps them."""
        return {
            "asked": self.asked,
            "on_category": self.on_category,
            "correct": self.correct,
            "cut_off": self.cut_off,
            "kept": len(self.kept),
            "yield": self.yield_,
            "ungraded": self.ungraded,
        }


def normalized(text: str) -> str:
    """The text as it counts for being there already: letters' and digits' forms, case and white space are the same."""
    return " ".join(normal_form.normalized("NFKC", text).casefold().split())


def harvests_of(lines: Sequence[Record], categories: Sequence[str], max_prompt_tokens: int) -> dict[str, Harvest]:
    """Category -> what came back for it."""
    harvests = {name: Harvest(max_prompt_tokens) for name in categories}
    seen: set[tuple[int, str]] = set()
    for line in lines:
        harvests[line["asked"]].add(line, seen)
    return harvests


def next_round(harvests: Mapping[str, Harvest], rows: Sequence[int], settings: WarmStart) -> list[Request]:
    """What to ask next; nothing when each category has enough, or has asked each row ``samples_per_row`` times.

    The i-th question for a category goes to row i of ``rows``, and round again; so the same rows are asked for every
    category, and a prompt of the finetuning is answered in several.
    """
    requests = []
    for name, harvest in harvests.items():
        missing = settings.per_category - len(harvest.kept)
        if missing <= 0:
            continue
        expected = (len(harvest.kept) + 1) / (harvest.asked + 1)  # 1 before anything is known
        count = math.ceil(SPARE * missing / expected) if harvest.asked else settings.rows_per_round
        count = min(max(count, LEAST_ROWS), settings.rows_per_round)
        last = min(harvest.asked + count, len(rows) * settings.samples_per_row)
        requests += [Request(rows[i % len(rows)], name, i // len(rows)) for i in range(harvest.asked, last)]
    return requests


def sample(settings: WarmStart, start: StartSampler = Engines) -> dict[str, Harvest]:
    """Ask until there is enough; returns what came back. Resumes, and returns at once when it is done.

    Every response is in ``samples.jsonl``. Raises MadrlError as soon as a category's yield is below ``min_yield``.
    """
    sampling = Sampling(
        settings.model, settings.temperature, settings.response_tokens, settings.seed, settings.chat_template
    )
    names = settings.wanted
    decides = {key: getattr(settings, key) for key in ("per_category", "rows_per_round", "samples_per_row")}
    data, out = settings.data / "train.parquet", settings.run / "samples.jsonl"
    decides["asked_tokens"] = settings.asked_tokens
    gpus = settings.tensor_model_parallel_size
    with Responses(data, out, sampling, settings.grader, settings.naming, decides, gpus, start) as responses:
        rows = list(responses.rows)
        random.Random(settings.seed).shuffle(rows)
        harvests = harvests_of([], names, settings.asked_tokens)
        asked: list[Request] = []
        lines: list[Record] = []
        while requests := next_round(harvests, rows, settings):
            asked += requests
            known = sum(responses.has(request) for request in requests)
            with progress(f"{len(asked)} asked for", len(requests), known) as advance:
                lines += responses.to(requests, advance)
            harvests = harvests_of(lines, names, settings.asked_tokens)
            check_yield(harvests, settings)
        responses.finish(asked)
    return harvests


def check_yield(harvests: Mapping[str, Harvest], settings: WarmStart) -> None:
    """Raises MadrlError that names the category whose yield is the lowest, when that is below ``min_yield``."""
    name, worst = min(harvests.items(), key=lambda item: item[1].yield_)
    if worst.yield_ < settings.min_yield or not worst.kept:
        cut_off, use = "", "Use"
        if worst.cut_off:
            cut_off = f" ({worst.cut_off} were cut off)"
            use = f"Allow longer ones (warm_start.response_tokens={settings.response_tokens} now), use"
        raise MadrlError(
            f"category {name!r}: of {worst.asked} responses asked for in it {worst.on_category} were, "
            f"{worst.correct} of these correct, {len(worst.kept)} usable{cut_off}: a yield of {worst.yield_:.1%}, "
            f"below warm_start.min_yield={settings.min_yield:.1%}. {use} a stronger base model (paths.model, or "
            "MODEL=), ask more often (warm_start.samples_per_row), or leave the category out of the task's categories. "
            "A task file presets such keys in its field warm_start"
        )


def mixed(kept: Mapping[str, Sequence[Record]], target: NDArray[np.float64], at_most: int, seed: int) -> list[Record]:
    """Responses whose categories have the shares of ``target``, shape (K,), in random order: as many as the scarcest
    category allows for, and not more than ``at_most`` of any. Of a category that has more, the first ones are taken.
    ``kept`` has the categories with a share, in the order of ``target``."""
    shares = target[target > 0]
    available = np.array([min(at_most, len(lines)) for lines in kept.values()])
    # A whole number less a rounding error is that number.
    counts = np.floor((available / shares).min() * shares + 1e-9).astype(int)
    chosen = [line for lines, count in zip(kept.values(), counts, strict=True) for line in lines[:count]]
    random.Random(seed).shuffle(chosen)
    return chosen


def messages(line: Record, rows: Mapping[int, Row]) -> list[dict[str, str]]:
    """The conversation that is learnt: the row's own prompt, which names no category, and the response."""
    prompt = [{"role": turn["role"], "content": turn["content"]} for turn in rows[line["row"]]["prompt"]]
    return [*prompt, {"role": "assistant", "content": line["response"]}]


def write_examples(lines: Sequence[Record], rows: Mapping[int, Row], path: Path) -> None:
    """veRL's multi-turn SFT file: a column ``messages``, and for the reader the category and the response's name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    records: list[dict[str, Any]] = [
        {"messages": messages(line, rows), "category": line["asked"], **name_of(line)._asdict()} for line in lines
    ]
    with replacing(path) as unfinished:
        pq.write_table(pa.Table.from_pylist(records), unfinished)
