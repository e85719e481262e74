"""vLLM's offline engine, each in a process of its own: one on each GPU, or one on the CPU.

A process of its own gives its memory back when it ends, so that the next model finds the GPU empty, and on several GPUs
there are several (vLLM's offline engine has no data parallelism). It dies with the process that started it, however
that dies: an engine left behind would hold the GPU against the call that resumes.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from madrl.errors import MadrlError
from madrl.process import CPU_ENVIRONMENT, LOG_TAIL_LINES, WORKER_ENVIRONMENT, last_error

Tag = TypeVar("Tag")

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
}
GPU_SETTINGS = {"dtype": "bfloat16", "gpu_memory_utilization": 0.9}

CPU_BATCHED_TOKENS = 4096
PATIENCE_S = 30
_PR_SET_PDEATHSIG = 1


class Prompted(NamedTuple):
    """One response that is wanted, as the engine takes it."""

    tokens: list[int]
    seed: int


class Generated(NamedTuple):
    """One response."""

    text: str
    finish_reason: str
    """vLLM's: ``stop``, or ``length`` when it was cut off."""
    tokens: int


@dataclass(frozen=True)
class EngineSettings:
    """What decides a response, beside its prompt and seed."""

    model: str
    temperature: float
    max_response_tokens: int
    max_prompt_tokens: int
    """Of the longest prompt: with ``max_response_tokens``, the context that the engine makes room for."""


class Engines:
    """The engines of one model; a context manager that starts and ends them.

    Raises MadrlError, with the end of its log, when an engine ends early.
    """

    def __init__(self, settings: EngineSettings, devices: Sequence[str | None], log_dir: Path) -> None:
        """``devices`` are what CUDA_VISIBLE_DEVICES is to be for each engine, ``"0,1"`` for one over two GPUs, None for
        a CPU."""
        self._settings = settings
        self._devices = devices
        self._log_dir = log_dir
        self._engines: dict[Connection, tuple[subprocess.Popen[bytes], Path]] = {}

    def __enter__(self) -> "Engines":
        self._log_dir.mkdir(parents=True, exist_ok=True)
        for number, device in enumerate(self._devices):
            log = self._log_dir / f"engine-{number}.log"
            ours, theirs = Pipe()
            with theirs, log.open("ab") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "madrl.sampling.engine", str(theirs.fileno()), str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    env=os.environ | ENVIRONMENT | _device_environment(device),
                )
            self._engines[ours] = process, log
            ours.send((self._settings, 0 if device is None else device.count(",") + 1))
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

    def generate(self, batches: Iterable[tuple[Tag, Sequence[Prompted]]]) -> Iterator[tuple[Tag, list[Generated]]]:
        """The responses to each batch, with its tag, as they are done: in order when there is one engine."""
        todo = iter(batches)
        busy: dict[Connection, Tag] = {}
        for connection in self._engines:
            self._feed(connection, todo, busy)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                generated = self._receive(ready)
                tag = busy.pop(ready)
                self._feed(ready, todo, busy)
                yield tag, generated

    def _feed(
        self, connection: Connection, todo: Iterator[tuple[Tag, Sequence[Prompted]]], busy: dict[Connection, Tag]
    ) -> None:
        following = next(todo, None)
        if following is None:
            return
        tag, batch = following
        busy[connection] = tag
        with contextlib.suppress(BrokenPipeError):  # it has ended: reading from it says so, with the reason
            connection.send(list(batch))

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


def visible_devices() -> list[str | None]:
    """One entry for each GPU that this process sees, as CUDA_VISIBLE_DEVICES names it; [None] without a GPU."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return [*(named or map(str, range(count)))][:count] or [None]


def engine_devices(gpus_per_engine: int) -> list[str | None]:
    """The visible GPUs, ``gpus_per_engine`` to an engine; [None] without a GPU.

    Raises MadrlError when they do not divide evenly."""
    found = [device for device in visible_devices() if device is not None]
    if not found:
        return [None]
    if gpus_per_engine < 1 or len(found) % gpus_per_engine:
        raise MadrlError(
            f"{len(found)} GPUs cannot be shared out {gpus_per_engine} to an engine: name a divisor of them, or other "
            "CUDA_VISIBLE_DEVICES"
        )
    return [",".join(found[i : i + gpus_per_engine]) for i in range(0, len(found), gpus_per_engine)]


def _device_environment(device: str | None) -> dict[str, str]:
    return CPU_ENVIRONMENT if device is None else {"CUDA_VISIBLE_DEVICES": device}


def _answer(connection: Connection) -> None:
    """Lists of Prompted come in, lists of Generated go out, None ends it."""
    from vllm import LLM, SamplingParams

    settings, gpus = connection.recv()
    length = settings.max_prompt_tokens + settings.max_response_tokens
    if gpus:
        own = GPU_SETTINGS | {"tensor_parallel_size": gpus}
    else:
        own = CPU_SETTINGS | {"max_num_batched_tokens": max(CPU_BATCHED_TOKENS, length)}
    # Without the prefix cache a response does not depend on what was asked before it, in an earlier call or in this.
    llm = LLM(settings.model, max_model_len=length, enable_prefix_caching=False, **own)
    while (batch := connection.recv()) is not None:
        parameters = [
            SamplingParams(
                temperature=settings.temperature,
                top_p=1.0,
                top_k=-1,
                max_tokens=settings.max_response_tokens,
                seed=seed,
            )
            for _, seed in batch
        ]
        prompts = [{"prompt_token_ids": tokens} for tokens, _ in batch]
        outputs = [answer.outputs[0] for answer in llm.generate(prompts, parameters, use_tqdm=False)]
        connection.send([Generated(o.text, str(o.finish_reason), len(o.token_ids)) for o in outputs])


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when the one that started it ends, even by SIGKILL (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def main(descriptor: str, parent: str) -> None:
    """An engine's process."""
    _die_with(int(parent))
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
