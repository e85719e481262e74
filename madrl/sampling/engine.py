"""vLLM's offline engines, each in a process of its own: one on each GPU, or one on the CPU.

A process of its own gives its memory back when it ends, so that the next model finds the GPU empty, and on several GPUs
there are several (vLLM's offline engine has no data parallelism). It dies with the process that started it, however
that dies: an engine left behind would hold the GPU against the call that resumes.
"""

import contextlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from madrl.errors import MadrlError
from madrl.failures import last_error
from madrl.process import CPU_ENVIRONMENT, LOG_TAIL_LINES, PATIENCE_S, WORKER_ENVIRONMENT, end_with_parent
from madrl.sampling.requests import Request
from madrl.schema import Message
from madrl.trainer.context import context_length

ENVIRONMENT = {
    # The engine in this process, not in a child of it that a kill would leave behind.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    **WORKER_ENVIRONMENT,
}

CPU_SETTINGS = {
    "dtype": "float32",
    "enforce_eager": True,
    # vLLM rewinds the random generator of a half-prefilled request, which a CPU generator cannot do: the engine dies.
    "enable_chunked_prefill": False,
    "max_num_seqs": 256,
    # A prompt is read once for all its responses, as far as it fills blocks. On CPUs they have 128 tokens otherwise.
    "block_size": 16,
}
GPU_SETTINGS = {"dtype": "bfloat16", "gpu_memory_utilization": 0.9}

CPU_BATCHED_TOKENS = 4096
COMMAND = (sys.executable, "-m", __name__)


Batch = Sequence[Request]

Prompts = Mapping[tuple[int, str | None], Sequence[Message]]
"""The conversation of each row and asked-for category."""


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
    trust_remote_code: bool = False
    """Whether to run the code that the model's folder brings."""
    top_p: float = 1.0
    """Each token is one of the likeliest that have this probability together; 1: of all."""
    top_k: int = -1
    """Each token is one of so many likeliest; -1: of all."""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise MadrlError(f"temperature={self.temperature} is not above 0: greedy decoding has no distribution")
        if self.max_response_tokens < 1:
            raise MadrlError(f"max_response_tokens={self.max_response_tokens} must be at least 1")
        if not 0 < self.top_p <= 1:
            raise MadrlError(f"top_p={self.top_p} is not in (0, 1]")
        if self.top_k < 1 and self.top_k != -1:
            raise MadrlError(f"top_k={self.top_k} is neither -1 nor at least 1")


class Generated(NamedTuple):
    """One response."""

    text: str
    finish_reason: str
    """vLLM's: ``stop``, or ``length`` when it was cut off."""
    response_tokens: int
    prompt_tokens: int


class Sampler(Protocol):
    """What answers requests: ``Engines``, or what stands in for it."""

    def generate(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Generated]]]:
        """Each batch with its responses, as it is done."""
        ...


StartSampler = Callable[[Sampling, Prompts, int, Path], AbstractContextManager[Sampler]]
"""Takes what ``Engines`` takes."""


@dataclass
class Engines:
    """The engines of one model; a context manager that starts and ends them.

    Args:
        prompts: all conversations that requests will name.
        gpus_per_engine: how many GPUs a model is split over (tensor parallelism).
        log_dir: gets a log for each engine.
        command: what is run for an engine, with the number of an inherited connection as its last argument.

    Raises MadrlError when the prompts leave no room for a response and when the GPUs do not divide evenly; with the
    end of its log, when an engine ends early.
    """

    sampling: Sampling
    prompts: Prompts
    gpus_per_engine: int
    log_dir: Path
    command: Sequence[str] = COMMAND
    _tokens: dict[tuple[int, str | None], list[int]] = field(default_factory=dict, init=False)
    _engines: dict[Connection, tuple[subprocess.Popen[bytes], Path]] = field(default_factory=dict, init=False)

    def __enter__(self) -> "Engines":
        self._tokens = _tokenized(self.sampling, self.prompts)
        longest = max(map(len, self._tokens.values()))
        _check_context(self.sampling, longest)
        self.log_dir.mkdir(parents=True, exist_ok=True)
        for number, device in enumerate(engine_devices(self.gpus_per_engine)):
            log = self.log_dir / f"engine-{number}.log"
            ours, theirs = Pipe()
            own = _cpu_environment() if device is None else {"CUDA_VISIBLE_DEVICES": device}
            with theirs, log.open("ab") as output:
                process = subprocess.Popen(
                    [*self.command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    env=os.environ | ENVIRONMENT | own,
                    preexec_fn=end_with_parent(signal.SIGKILL),
                )
            self._engines[ours] = process, log
            ours.send((self.sampling, longest, 0 if device is None else device.count(",") + 1))
        return self

    def __exit__(self, *exception: object) -> None:
        for connection in self._engines:
            with contextlib.suppress(OSError):
                connection.send(None)
        for connection, (process, _) in self._engines.items():
            # In the middle of a batch, it would only hear us at its end.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S if exception[0] is None else 0)
            process.kill()
            process.wait()
            connection.close()
        self._engines.clear()

    def generate(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Generated]]]:
        """Each batch with its responses, as it is done: in order when there is one engine."""
        todo = iter(batches)
        busy: dict[Connection, Batch] = {}
        for connection in self._engines:
            self._feed(connection, todo, busy)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                generated = self._receive(ready)
                batch = busy.pop(ready)
                self._feed(ready, todo, busy)
                yield batch, generated

    def _feed(self, connection: Connection, todo: Iterator[Batch], busy: dict[Connection, Batch]) -> None:
        batch = next(todo, None)
        if batch is None:
            return
        busy[connection] = batch
        with contextlib.suppress(BrokenPipeError):  # it has ended: reading from it says so, with the reason
            connection.send([(self._tokens[r.row, r.asked], r.seed(self.sampling.seed)) for r in batch])

    def _receive(self, connection: Connection) -> list[Generated]:
        try:
            generated: list[Generated] = connection.recv()
        except (EOFError, ConnectionResetError):
            process, log = self._engines[connection]
            process.wait()
            tail = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:] if log.exists() else []
            reason = last_error(tail) or f"exit code {process.returncode}"
            raise MadrlError(f"vLLM ended early ({reason}): see {log}") from None
        return generated


def _cpu_environment() -> dict[str, str]:
    """No trainer takes turns with this engine, so that it has all cores (or OMP_NUM_THREADS, if that is set), and does
    not spin for them where something else needs one."""
    threads = os.environ.get("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    return CPU_ENVIRONMENT | {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE"}


def _tokenized(sampling: Sampling, prompts: Prompts) -> dict[tuple[int, str | None], list[int]]:
    from transformers import AutoTokenizer

    template = AutoTokenizer.from_pretrained(
        sampling.model, trust_remote_code=sampling.trust_remote_code
    ).apply_chat_template
    options: dict[str, Any] = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    return {key: template(messages, **options, **sampling.chat_template) for key, messages in prompts.items()}


def _check_context(sampling: Sampling, longest_prompt: int) -> None:
    limit = context_length(sampling.model, trust_remote_code=sampling.trust_remote_code)
    if limit is not None and longest_prompt + sampling.max_response_tokens > limit:
        raise MadrlError(
            f"the longest prompt has {longest_prompt} tokens, which leaves no room for {sampling.max_response_tokens} "
            f"more in the model's context of {limit}: ask for shorter responses"
        )


def visible_devices() -> list[str]:
    """The GPUs that this process sees, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return (named or [str(number) for number in range(count)])[:count]


def engine_devices(gpus_per_engine: int) -> list[str | None]:
    """The visible GPUs, ``gpus_per_engine`` to an engine; [None] without a GPU.

    Raises MadrlError when they do not divide evenly."""
    if not (found := visible_devices()):
        return [None]
    if gpus_per_engine < 1 or len(found) % gpus_per_engine:
        raise MadrlError(
            f"{len(found)} GPUs cannot be shared out {gpus_per_engine} to an engine: name a divisor of them, or other "
            "CUDA_VISIBLE_DEVICES"
        )
    return [",".join(found[i : i + gpus_per_engine]) for i in range(0, len(found), gpus_per_engine)]


def _answer(connection: Connection) -> None:
    """Lists of prompts' tokens and seeds come in, lists of Generated go out, None ends it."""
    from vllm import LLM, SamplingParams

    sampling, longest_prompt, gpus = connection.recv()
    length = longest_prompt + sampling.max_response_tokens
    if gpus:
        own = GPU_SETTINGS | {"tensor_parallel_size": gpus}
    else:
        own = CPU_SETTINGS | {"max_num_batched_tokens": max(CPU_BATCHED_TOKENS, length)}
    own |= {"trust_remote_code": sampling.trust_remote_code, "max_model_len": length}
    llm = LLM(sampling.model, **own)
    while (batch := connection.recv()) is not None:
        # Responses must not depend on the batches before theirs: a call that resumes leaves some out.
        if not llm.reset_prefix_cache():
            raise RuntimeError("the engine still works on an earlier batch")
        parameters = [
            SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                max_tokens=sampling.max_response_tokens,
                seed=seed,
            )
            for _, seed in batch
        ]
        prompts = [{"prompt_token_ids": tokens} for tokens, _ in batch]
        outputs = [answer.outputs[0] for answer in llm.generate(prompts, parameters, use_tqdm=False)]
        connection.send(
            [
                Generated(output.text, str(output.finish_reason), len(output.token_ids), len(tokens))
                for output, (tokens, _) in zip(outputs, batch, strict=True)
            ]
        )


def main(descriptor: str) -> None:
    """An engine's process."""
    try:
        _answer(Connection(int(descriptor)))
    except (EOFError, KeyboardInterrupt):  # whoever asked is gone, or leaving
        os._exit(1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # past the libraries' own clean-up, which takes seconds and can hang


if __name__ == "__main__":
    from madrl.sampling import engine  # its records must not be those of __main__ when they are pickled

    engine.main(*sys.argv[1:])
