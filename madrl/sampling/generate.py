"""``madrl generate``: k responses to each row of a parquet file, graded with the functions of training, as JSON lines.

A line is a response (``madrl.records``) with {group, session, turn, row, asked, prompt, response, ground_truth,
data_source, split, category, classified, correct, answer, reason, unusual, verifier_extra, finish_reason,
prompt_tokens, response_tokens}:
``asked`` is the category that the prompt names, ``group`` the row, or ``{row}-{asked}`` where every category was asked
for, and ``finish_reason`` ``length`` when the response was cut off. Where the row gives its prompt a target of its own
(``prompt_targets.row_target``), a line has it as ``target``; where the run has further attributes, their categories as
``attributes``.
Batches are the same in every call, and each response has a seed of its own, so that on a CPU a call that resumes ends
with the very file of one that was not interrupted (a GPU's kernels promise no equal bits between two runs).
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.files import locked, sha256_of
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import own_module
from madrl.grading.threads import LoopThread
from madrl.progress import progress
from madrl.prompt_targets import row_target
from madrl.prompts import load_naming
from madrl.records import CLASSIFIED, CLUSTER, TARGET, Record, attributes_key, writable
from madrl.rollout import Rollout
from madrl.sampling.engine import Batch, Engines, Generated, Sampler, Sampling, StartSampler
from madrl.sampling.journal import Journal
from madrl.sampling.model_folder import fingerprint
from madrl.sampling.requests import Request, messages_of, read_rows
from madrl.schema import Row
from madrl.source import digest, plugin_modules

BATCH = 512
"""Responses that are sampled together, and what a kill can cost, on each engine.

An engine runs dry at the end of each, on purpose: were the next one begun before that, what is computed beside a
response, and so its last bits, would depend on which batches an earlier call has made."""

GRADED_LATER = 4
"""Batches that may wait for their verdicts while the engines go on."""

ROWS_TO_TELL = 8
"""A batch of responses to fewer rows tells no outage from references that nobody can read."""


class Sampled(NamedTuple):
    """A finished file of responses."""

    lines: list[Record]
    resumed: int
    """Lines that an earlier call had already made."""
    out: Path
    categories: tuple[str, ...]


def generate_file(
    data: Path,
    out: Path,
    sampling: Sampling,
    grader: GraderSpec,
    samples: int,
    naming: str | None = None,
    gpus_per_engine: int = 1,
    target: NDArray[np.float64] | None = None,
    start: StartSampler = Engines,
) -> Sampled:
    """Sample ``samples`` responses to each row of ``data`` and write them to ``out``, graded.

    The same call after a kill goes on where that one ended, and returns at once when the file is finished. Raises
    MadrlError for bad arguments, a file of other settings, an engine that fails, and a verifier that is down.

    Args:
        naming: with one, each row is asked once for each category, in a prompt that names it.
        gpus_per_engine: the GPUs that a model is split over, which is too large for one (tensor parallelism).
        target: with one, of shape (K,), each response is asked for once, in a category that is drawn from it.
        start: starts what answers.
    """
    if samples < 1:
        raise MadrlError(f"samples={samples} must be at least 1")
    if target is not None and naming is None:
        raise MadrlError("a category that is drawn has to be asked for: give a naming")
    settings: dict[str, Any] = {"samples": samples}
    settings |= {} if target is None else {"drawn_from": target.tolist()}
    with Responses(data, out, sampling, grader, naming, settings, gpus_per_engine, start) as responses:
        if target is None:
            requests = [Request(*prompt, sample) for prompt in responses.prompts for sample in range(samples)]
        else:
            requests = drawn_requests(list(responses.rows), samples, grader.categories, target, sampling.seed)
        resumed = responses.known
        with progress(f"sampling {out.name}", len(requests), resumed) as advance:
            lines = responses.to(requests, advance)
        responses.finish(requests)
    return Sampled(lines, resumed, out, grader.categories)


def drawn_requests(
    rows: Sequence[int], samples: int, categories: Sequence[str], target: NDArray[np.float64], seed: int
) -> list[Request]:
    """``samples`` requests to each row, each in a category drawn from ``target``, shape (K,)."""
    draws = np.random.default_rng(seed).choice(len(categories), (len(rows), samples), p=target)
    return [
        Request(row, categories[draw], sample, drawn=True)
        for row, of_row in zip(rows, draws, strict=True)
        for sample, draw in enumerate(of_row)
    ]


class Responses:
    """The responses to requests for the rows of one file, sampled when they are not there yet.

    A context manager. No engine is started before a response is missing.

    Args:
        naming: how prompts name the categories, a key of NAMINGS or ``pkg.module:name``; None for prompts that name
            none.
        settings: what else decides the file's content, beside ``sampling``, ``grader``, ``naming`` and the data.
    """

    def __init__(
        self,
        data: Path,
        out: Path,
        sampling: Sampling,
        grader: GraderSpec,
        naming: str | None,
        settings: Mapping[str, Any],
        gpus_per_engine: int = 1,
        start: StartSampler = Engines,
    ) -> None:
        self._categories = () if grader.classifier is None else grader.categories
        self.rows: dict[int, Row] = read_rows(data, self._categories)
        asked: Sequence[str | None] = (None,) if naming is None else grader.categories
        name = None if naming is None else load_naming(naming)
        self.prompts = {(index, c): messages_of(row, c, name) for index, row in self.rows.items() for c in asked}
        """The conversation of each row and asked-for category, rows in the file's order."""
        self._grader = grader_of(grader)
        self._grading = LoopThread()
        naming_module = None if naming is None else own_module(naming)
        decided_by = {
            **asdict(sampling),
            # What the folder holds, wherever it lies.
            "model": fingerprint(sampling.model) or sampling.model,
            "data_sha256": sha256_of(data),
            "batch": BATCH,
            **self._grader.identity(),
            "naming": naming,
            "naming_code": None if naming_module is None else digest(plugin_modules(naming_module)),
            **settings,
        }
        self._journal = Journal(writable(out), decided_by)
        self._start: Callable[[], Any] = lambda: start(sampling, self.prompts, gpus_per_engine, self._journal.folder)
        self._sampler: Sampler | None = None
        self._open = ExitStack()

    def __enter__(self) -> "Responses":
        out = self._journal.out
        with ExitStack() as opening:
            opening.enter_context(locked(out.with_name(f".{out.name}.lock"), f"{out}: another madrl is writing it"))
            self._journal.open()
            opening.enter_context(self._grading)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._open.__exit__(*exception)

    @property
    def known(self) -> int:
        """How many responses are there already."""
        return len(self._journal.lines)

    def has(self, request: Request) -> bool:
        """Whether the response is there already."""
        return request.name in self._journal.lines

    def to(self, requests: Sequence[Request], advance: Callable[[int], object] = lambda count: None) -> list[Record]:
        """One line for each request, in their order; ``advance`` hears of those that are sampled now."""
        known = self._journal.lines
        batches = [requests[start : start + BATCH] for start in range(0, len(requests), BATCH)]
        missing = [batch for batch in batches if any(r.name not in known for r in batch)]
        if missing:
            self._sample(missing, advance)
        return [self._journal.lines[request.name] for request in requests]

    def finish(self, requests: Sequence[Request]) -> None:
        """Write the file: the lines of ``requests``, in their order."""
        self._journal.finish([request.name for request in requests])

    def _sample(self, batches: Sequence[Batch], advance: Callable[[int], object]) -> None:
        if self._sampler is None:
            self._grader.check_ready()
            self._sampler = self._open.enter_context(self._start())
        grading: deque[Future[None]] = deque()
        for batch, generated in self._sampler.generate(batches):
            grading.append(self._grading.start(self._keep(batch, generated, advance)))
            while grading and (grading[0].done() or len(grading) > GRADED_LATER):
                grading.popleft().result()
        for graded in grading:
            graded.result()

    async def _keep(self, batch: Batch, generated: Sequence[Generated], advance: Callable[[int], object]) -> None:
        """Grade a batch and write it down at once, whatever the engines do meanwhile."""
        rows = [self.rows[request.row] for request in batch]
        rollouts = [Rollout.to_row(row, response.text) for row, response in zip(rows, generated, strict=True)]
        enough = is_enough((request.row for request in batch), len(self.rows))
        grades = await self._grader.grade_all(rollouts, enough)
        self._journal.append(
            [
                {
                    **request.name._asdict(),
                    "row": request.row,
                    "asked": request.asked,
                    "prompt": self.prompts[request.row, request.asked][-1]["content"],
                    "response": response.text,
                    "ground_truth": row["reward_model"]["ground_truth"],
                    "data_source": row["data_source"],
                    "split": row["extra_info"]["split"],
                    "category": grade.category,
                    CLASSIFIED: grade.classified,
                    "correct": grade.correctness,
                    "answer": grade.answer,
                    "reason": grade.reason,
                    "unusual": grade.unusual or None,
                    "verifier_extra": grade.extra or None,
                    "finish_reason": response.finish_reason,
                    "prompt_tokens": response.prompt_tokens,
                    "response_tokens": response.response_tokens,
                    **prompt_keys(row, self._categories),
                    **attributes_key(grade),
                }
                for request, row, response, grade in zip(batch, rows, generated, grades, strict=True)
            ]
        )
        advance(len(batch))


def is_enough(rows: Iterable[int], of: int) -> bool:
    """Whether a batch of responses to these rows, of ``of`` in the data, can tell an outage: a few of many may have
    references that nobody can read."""
    return len(set(rows)) >= min(ROWS_TO_TELL, of)


def prompt_keys(row: Row, categories: Sequence[str]) -> Record:
    """The cluster and the target that the row gives its prompt, as a response's line has them: what it gives none of is
    absent, and the target also without declared ``categories``."""
    target = row_target(row["extra_info"], categories) if categories else None
    cluster = row["extra_info"].get(CLUSTER)
    return ({} if target is None else {TARGET: target.text}) | ({} if cluster is None else {CLUSTER: cluster})


def grader_of(spec: GraderSpec) -> Grader:
    """The grader, with veRL's reward function where the spec names one."""
    if spec.custom_reward_function is None:
        return Grader(spec)
    from madrl.trainer.custom_reward import custom_reward_function

    return Grader(spec, custom_reward_function(spec.custom_reward_function))
