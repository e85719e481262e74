"""``madrl generate``: k responses to each row of a parquet file, graded with the functions of training, as JSON lines.

A line is a response (``madrl.records``) with {group, session, turn, row, asked, prompt, response, ground_truth,
data_source, split, category, correct, answer, reason, verifier_extra, finish_reason, prompt_tokens, response_tokens}:
``group`` is the row, or ``{row}-{asked}``, ``asked`` the category that the prompt names, and ``finish_reason``
``length`` when the response was cut off.
Batches are the same in every call, and each response has a seed of its own, so that on a CPU a call that resumes ends
with the very file of one that was not interrupted (a GPU's kernels promise no equal bits between two runs).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked, sha256_of
from madrl.grading.verifiers import check_ready
from madrl.progress import Advance, progress
from madrl.prompts import load_naming
from madrl.records import Record, writable
from madrl.rollout import Grade
from madrl.sampling.engine import Engines, EngineSettings, Generated, Prompted, engine_devices
from madrl.sampling.grading import BackgroundGrader, GraderSpec, own_code
from madrl.sampling.journal import Journal
from madrl.sampling.requests import Request, in_batches, messages_of, read_rows, rollout_of
from madrl.schema import Row

BATCH = 512
"""Responses that are sampled together, and what a kill can cost, on each engine."""

GRADED_LATER = 4
"""Batches that may wait for their verdicts while the engines go on."""

WEIGHTS = "*.safetensors"
TAIL_BYTES = 1 << 20


@dataclass(frozen=True)
class Sampling:
    """What decides the responses to a set of requests."""

    model: str
    """A folder, or a name on the Hugging Face hub."""
    temperature: float = 1.0
    max_response_tokens: int = 1024
    seed: int = 42
    chat_template: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the model's chat template, such as ``enable_thinking``."""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise MadrlError(f"temperature={self.temperature} is not above 0: greedy decoding has no distribution")
        if self.max_response_tokens < 1:
            raise MadrlError(f"max_response_tokens={self.max_response_tokens} must be at least 1")


class Done(NamedTuple):
    """What became of a file."""

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
) -> Done:
    """Sample ``samples`` responses to each row of ``data`` and write them to ``out``, graded.

    With a ``naming`` each row is asked once for each category, in a prompt that names it. The same call after a
    kill goes on where that one ended, and returns at once when the file is finished. A model that is too large for one
    GPU is split over ``gpus_per_engine`` (tensor parallelism). Raises MadrlError for bad arguments, a file of other
    settings, an engine that fails, and a verifier that is down.
    """
    if samples < 1:
        raise MadrlError(f"samples={samples} must be at least 1")
    asked: Sequence[str | None] = (None,) if naming is None else grader.categories
    with Responses(data, out, sampling, grader, asked, naming, {"samples": samples}, gpus_per_engine) as responses:
        requests = [Request(row, name, sample) for row in responses.rows for name in asked for sample in range(samples)]
        resumed = responses.known
        with progress(f"sampling {out.name}", len(requests), resumed) as advance:
            lines = responses.to(requests, advance)
        responses.finish(requests)
    return Done(lines, resumed, out, grader.categories)


class Responses:
    """The responses to requests for the rows of one file, sampled when they are not there yet. A context manager;
    nothing is started before something is missing.

    Args:
        asked: the categories that requests will name; None for none.
        naming: how they are named, a key of NAMINGS or ``pkg.module:name``; None where none is.
        settings: what else decides the file's content, beside ``sampling``, ``grader`` and the data.
    """

    def __init__(
        self,
        data: Path,
        out: Path,
        sampling: Sampling,
        grader: GraderSpec,
        asked: Sequence[str | None],
        naming: str | None,
        settings: Mapping[str, Any],
        gpus_per_engine: int = 1,
    ) -> None:
        self.rows: dict[int, Row] = read_rows(data)
        self._sampling = sampling
        self._gpus_per_engine = gpus_per_engine
        self._asked = asked
        self._naming = None if naming is None else load_naming(naming)
        self._grader = BackgroundGrader(grader)
        self._decided_by = {
            **asdict(sampling),
            # What the folder holds, wherever it lies.
            "model": fingerprint(sampling.model) or sampling.model,
            "data_sha256": sha256_of(data),
            "batch": BATCH,
            **grader._asdict(),
            "naming": naming,
            "own_code": own_code(grader, naming),
            **settings,
        }
        self._out = writable(out)
        self._spec = grader
        self._journal: Journal
        self._engines: Engines | None = None
        self._prompts: dict[tuple[int, str | None], list[int]] = {}
        self._open = ExitStack()

    def __enter__(self) -> "Responses":
        lock = self._out.with_name(f".{self._out.name}.lock")
        with ExitStack() as opening:
            opening.enter_context(locked(lock, f"{self._out}: another madrl is writing it"))
            self._journal = Journal(self._out, self._decided_by)
            opening.enter_context(self._grader)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._open.__exit__(*exception)

    @property
    def known(self) -> int:
        """Responses that are there already."""
        return len(self._journal.lines)

    def has(self, request: Request) -> bool:
        """Whether the response is there already."""
        return request.name in self._journal.lines

    def to(self, requests: Sequence[Request], advance: Advance = lambda count: None) -> list[Record]:
        """One line for each request, in their order; ``advance`` hears of those that are sampled now."""
        known = self._journal.lines
        missing = [batch for batch in in_batches(requests, BATCH) if any(r.name not in known for r in batch)]
        if missing:
            self._sample(missing, advance)
        return [self._journal.lines[request.name] for request in requests]

    def finish(self, requests: Sequence[Request]) -> None:
        """Write the file: the lines of ``requests``, in their order."""
        self._journal.finish([request.name for request in requests])

    def _sample(self, batches: Sequence[Sequence[Request]], advance: Advance) -> None:
        if self._engines is None:
            check_ready(self._spec.verifier, self._spec.categories)
            self._engines = self._open.enter_context(self._start_engines())
        seed = self._sampling.seed
        asked = ((batch, [Prompted(self._prompts[r.row, r.asked], r.seed(seed)) for r in batch]) for batch in batches)
        grading: deque[Future[None]] = deque()
        for batch, generated in self._engines.generate(asked):
            grading.append(self._grader.start(self._keep(batch, generated, advance)))
            while grading and (grading[0].done() or len(grading) > GRADED_LATER):
                grading.popleft().result()
        for graded in grading:
            graded.result()

    async def _keep(self, batch: Sequence[Request], generated: Sequence[Generated], advance: Advance) -> None:
        """Judge a batch and write it down at once, whatever the engines do meanwhile."""
        rollouts = [rollout_of(self.rows[r.row], g.text) for r, g in zip(batch, generated, strict=True)]
        self._journal.append(self._lines(batch, generated, await self._grader.grade(rollouts)))
        advance(len(batch))

    def _start_engines(self) -> Engines:
        self._prompts = self._tokenize()
        longest = max(len(tokens) for tokens in self._prompts.values())
        _check_context(self._sampling, longest)
        settings = EngineSettings(
            self._sampling.model, self._sampling.temperature, self._sampling.max_response_tokens, longest
        )
        return Engines(settings, engine_devices(self._gpus_per_engine), self._journal.folder)

    def _tokenize(self) -> dict[tuple[int, str | None], list[int]]:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self._sampling.model)
        return {
            (index, name): tokenizer.apply_chat_template(
                messages_of(row, name, self._naming),
                add_generation_prompt=True,
                tokenize=True,
                return_dict=False,
                **self._sampling.chat_template,
            )
            for index, row in self.rows.items()
            for name in self._asked
        }

    def _lines(self, batch: Sequence[Request], generated: Sequence[Generated], graded: Sequence[Grade]) -> list[Record]:
        return [
            {
                **request.name._asdict(),
                "row": request.row,
                "asked": request.asked,
                "prompt": messages_of(self.rows[request.row], request.asked, self._naming)[-1]["content"],
                "response": response.text,
                "ground_truth": self.rows[request.row]["reward_model"]["ground_truth"],
                "data_source": self.rows[request.row]["data_source"],
                "split": self.rows[request.row]["extra_info"]["split"],
                "category": grade.category,
                "correct": grade.correctness,
                "answer": grade.answer,
                "reason": grade.reason,
                "verifier_extra": grade.extra or None,
                "finish_reason": response.finish_reason,
                "prompt_tokens": len(self._prompts[request.row, request.asked]),
                "response_tokens": response.tokens,
            }
            for request, response, grade in zip(batch, generated, graded, strict=True)
        ]


def fingerprint(model: str) -> str | None:
    """What tells a model folder from another one that was put in its place: SHA-256 over its config and, of each file
    of weights, name, size and last megabyte, which differ in any two models that were trained differently. None for
    a name on the hub. Raises MadrlError for a folder that holds no model."""
    import hashlib

    folder = Path(model)
    if not folder.is_dir():
        if folder.is_absolute() or model.startswith("."):
            raise MadrlError(f"model {model} does not exist: name a folder, or a model on the Hugging Face hub")
        return None
    config, weights = folder / "config.json", sorted(folder.glob(WEIGHTS))
    if not config.exists() or not weights:
        raise MadrlError(f"model {model} is no Hugging Face model: it has no config.json or no {WEIGHTS}")
    digest = hashlib.sha256(config.read_bytes())
    for path in weights:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - TAIL_BYTES))
            digest.update(f"{path.name} {size} ".encode() + file.read())
    return digest.hexdigest()


def _check_context(sampling: Sampling, longest_prompt: int) -> None:
    from transformers import AutoConfig

    limit = getattr(AutoConfig.from_pretrained(sampling.model), "max_position_embeddings", None)
    if limit is not None and longest_prompt + sampling.max_response_tokens > limit:
        raise MadrlError(
            f"the longest prompt has {longest_prompt} tokens, which leaves no room for {sampling.max_response_tokens} "
            f"more in the model's context of {limit}: ask for shorter responses"
        )
