"""Verbalized sampling (Zhang et al., arXiv:2510.01171): the model writes several answers with a probability each, and
one of them is drawn. It changes the prompt and nothing else, and takes a model that can do it.

OUT.raw.jsonl   what the model wrote, as ``madrl generate`` writes it, ungraded
OUT.jsonl       the answers that were drawn, graded; ``verbalized`` says how many there were to draw from
"""

import asyncio
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from madrl.grading.grader import Grader, GraderSpec
from madrl.records import CLASSIFIED, Record, line_of, name_of, writable, write
from madrl.rollout import Rollout
from madrl.sampling.engine import Engines, Sampling, StartSampler
from madrl.sampling.generate import BATCH, Sampled, generate_file, grader_of, is_enough, prompt_keys
from madrl.sampling.requests import read_rows

COUNT = 5
"""Answers that are asked for, as in the paper."""

ASKED = "verbalized"
"""What stands in the raw file as the category that was asked for."""

TAG_TOKENS = 40
"""Room for an answer's tags and its probability."""

ANSWER = re.compile(
    r"<response>\s*<text>((?:(?!</text>|<response>).)*)</text>\s*<probability>\s*([0-9.]{1,12})(\s*%)?\s*</probability>",
    re.DOTALL,
)


class Answer(NamedTuple):
    """One answer of several."""

    text: str
    probability: float
    """As the model gave it: those of one response need not sum to 1."""


def asking_for_several(prompt: str, category: str) -> str:
    """``prompt``, asked to be answered COUNT times over, a probability with each. A naming (``madrl.prompts``) whose
    one category is ASKED."""
    return (
        f"{prompt}\n\nGive {COUNT} different answers to this, each as <response><text>the answer</text><probability>"
        "how likely you are to give it, from 0 to 1</probability></response>, and nothing else."
    )


def answers_of(text: str) -> list[Answer]:
    """The answers in a response that have a probability above 0, in order. Where several say the same, all count."""
    found = []
    for answer, number, percent in ANSWER.findall(text):
        try:
            probability = float(number) / (100 if percent else 1)
        except ValueError:  # 0.3.1
            continue
        if probability > 0 and answer.strip():
            found.append(Answer(answer.strip(), probability))
    return found


def drawn(answers: Sequence[Answer], seed: str) -> str:
    """One answer, drawn by the probabilities; empty where there is none."""
    if not answers:
        return ""
    total = math.fsum(answer.probability for answer in answers)
    return random.Random(seed).choices([a.text for a in answers], [a.probability / total for a in answers])[0]


def verbalized_file(
    data: Path,
    out: Path,
    sampling: Sampling,
    grader: GraderSpec,
    samples: int,
    gpus_per_engine: int = 1,
    start: StartSampler = Engines,
) -> Sampled:
    """Write ``samples`` responses to each row of ``data`` to ``out``, each drawn from COUNT answers of the model.

    ``prompt_tokens`` and ``response_tokens`` are those of the whole response, as all of it has to be paid for. A
    response without an answer is graded as an empty text. Arguments, errors and what a kill costs are those of
    ``generate_file``; the grading is done anew on every call.
    """
    raw = writable(out).with_name(f"{out.name.removesuffix('.jsonl')}.raw.jsonl")
    several = replace(sampling, max_response_tokens=COUNT * (sampling.max_response_tokens + TAG_TOKENS))
    own = f"{__name__}:{asking_for_several.__name__}"
    asked = generate_file(
        data, raw, several, GraderSpec(None, None, (ASKED,)), samples, own, gpus_per_engine, start=start
    )
    lines = asyncio.run(_graded(asked.lines, data, grader_of(grader), sampling.seed))
    write(out, map(line_of, lines))
    return Sampled(lines, asked.resumed, out, grader.categories)


async def _graded(raw: Sequence[Record], data: Path, grader: Grader, seed: int) -> list[Record]:
    """The raw file's records, with an answer drawn from each in place of the whole response, graded."""
    grader.check_ready()
    categories = grader.spec.categories
    rows, lines = read_rows(data, categories), []
    for start in range(0, len(raw), BATCH):
        batch = raw[start : start + BATCH]
        answers = [answers_of(record["response"]) for record in batch]
        texts = [drawn(a, f"{seed}/{name_of(record)}") for a, record in zip(answers, batch, strict=True)]
        grades = await grader.grade_all(
            [Rollout.to_row(rows[record["row"]], text) for record, text in zip(batch, texts, strict=True)],
            is_enough((record["row"] for record in batch), len(rows)),
        )
        lines += [
            record
            | {
                "group": str(record["row"]),
                "asked": None,
                "response": text,
                "category": grade.category,
                CLASSIFIED: grade.classified,
                "correct": grade.correctness,
                "answer": grade.answer,
                "reason": grade.reason,
                "unusual": grade.unusual or None,
                "verifier_extra": grade.extra or None,
                ASKED: len(found),
                **prompt_keys(rows[record["row"]], categories),
            }
            for record, text, found, grade in zip(batch, texts, answers, grades, strict=True)
        ]
    return lines
