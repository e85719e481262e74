"""Child processes: veRL's entry points with their output in a log, ended cleanly whatever happens; the environment that
they need; and the signals that tell a process to stop, noted in place of their effect or passed on when a parent dies.

Nothing here imports veRL, Ray or vLLM, so that everything which starts them can import it.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from madrl.errors import MadrlError
from madrl.failures import RESUMES, failure_of, last_error
from madrl.files import waited_for

CPU_ENVIRONMENT = {
    # veRL's plug-in variables: our platform, for a trainer that was written for "cuda".
    "VERL_USE_EXTERNAL_MODULES": "madrl.trainer.cpu_platform",
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    # Compiling costs more than it saves at this size.
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    # Trainer and engine take turns on few cores: bound or spinning threads of one would starve the other.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""The variables that veRL needs on a CPU. They must not be set on a host with GPUs."""

IN_PROCESS_EXECUTOR = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
"""vLLM's executor for an engine whose one worker works in the engine's process, on CPUs: a process of its own would be
imported and started for it, and the engine's would spin on a second core while it waits. The class by its name, as
vLLM takes "uni" for "mp" on CPUs."""

WORKER_ENVIRONMENT = {
    # vLLM reports what it runs to its makers otherwise.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    # transfer_queue asks for 8 and, where there are fewer, says at every request that it takes what there is.
    "TQ_NUM_THREADS": str(min(8, psutil.cpu_count(logical=False) or 1)),
    # Its own 3 s are too little where the processes of a start wait for a core or a file system.
    "TQ_STORAGE_HANDSHAKE_TIMEOUT": "300",
    "TQ_STORAGE_HANDSHAKE_MAX_RETRIES": "300",
}
"""The variables of every process that loads vLLM or transfer_queue, on every node of a cluster."""

COMMON_ENVIRONMENT = {
    **WORKER_ENVIRONMENT,
    "HYDRA_FULL_ERROR": "1",
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Their own 30 s are as little; slurm.sbatch has the same for the cluster that it starts.
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "PYTHONUNBUFFERED": "1",
}

OWN_RAY_LOCK = Path(f"/tmp/madrl-own-ray-{os.getuid()}.lock")
"""A lock that every training of this user on this machine holds, and whatever else takes all of its GPUs. It lies
beside veRL's sockets, which are in /tmp whatever TMPDIR says."""

VERL_SOCKETS = Path("/tmp/rl-colocate-zmq-*.sock")
"""The sockets through which veRL sends weights from a trainer to its engine, named by Ray job, replica and rank: of the
same names in all users' runs."""

OWN_RAY_JOB = "01000000"
"""The first job of a Ray, which is the only one where a run starts its own."""

POLL_S = 0.5
LOG_TAIL_LINES, LOG_LINES_BEFORE = 25, 5
"""The lines of a log that are shown of a failure, and how many of them lie before the one that tells its cause."""

PATIENCE_S = 30.0
"""How long a child that was told to stop may take to end before it is killed."""

VERL_PATIENCE_S = 20.0
"""The same for veRL, which ends within the patience of whoever started the process that runs it."""

LEFT_PATIENCE_S = 4.0
"""How long what a child has left behind may take to end by itself, when it was told to, and when it was killed."""

_PR_SET_PDEATHSIG = 1

OWN_ERROR = f"{MadrlError.__module__}.{MadrlError.__qualname__}: "
"""The beginning of a traceback's last line when one of our plug-ins in the trainer raised it for the user."""


@contextlib.contextmanager
def all_gpus(notice: str) -> Iterator[None]:
    """Wait until no training, warm start or holdout of this user takes the GPUs of this machine, and take them.

    The message ``notice`` is printed once, before the wait.
    """
    with waited_for(OWN_RAY_LOCK, waiting=lambda: print(notice, flush=True)):
        yield


def check_sockets(job: str = "*") -> None:
    """Raises MadrlError for one of veRL's sockets that belongs to another user: a run of ours, whose Ray job is ``job``
    where that is known, could not make its own; root's would take that one away.

    They are there while weights are sent, and after a kill. A training of another user between two steps is not seen.
    """
    for path in VERL_SOCKETS.parent.glob(VERL_SOCKETS.name.replace("*", f"{job}-*")):
        with contextlib.suppress(FileNotFoundError):
            if (owner := path.stat().st_uid) != os.getuid():
                raise MadrlError(
                    f"{path} belongs to the user with the id {owner}, and veRL would send this run's weights through a "
                    "socket of that name: wait for that user's training to end, or have them remove it, or train in a "
                    "container with a /tmp of its own"
                )


def hydra_value(value: Any) -> str:
    """``value`` as the right-hand side of a Hydra override, whatever characters a path or a token holds."""
    if isinstance(value, list | tuple):
        return f"[{','.join(hydra_value(item) for item in value)}]"
    if isinstance(value, bool | int | float):
        return str(value)
    # Hydra takes a backslash for itself but before a quote, and the last character is before the closing one.
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", str(value)).replace("'", "\\'")
    return f"'{escaped}'"


def run_logged(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    *,
    cpu: bool,
    on_poll: Callable[[], None] = lambda: None,
) -> None:
    """Run ``command`` to its end with its output appended to ``log``; ``on_poll`` is called twice a second.

    The child inherits open file descriptors that are marked inheritable. It leads a session, which is ended with it: a
    vLLM engine whose Ray was killed would live on, and hold its GPU's memory.

    Raises MadrlError when the child exits with anything but 0. It is the MadrlError that ended the child, if there was
    one. Otherwise it says what the log tells of the cause and at which line, or else the last error in it; that part of
    the log is printed on stderr first. Raises SystemExit when this process was told to stop by SIGTERM, and
    KeyboardInterrupt by SIGINT.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    variables = os.environ | COMMON_ENVIRONMENT | (CPU_ENVIRONMENT if cpu else {}) | dict(environment)
    offset = log.stat().st_size if log.exists() else 0
    # Noted from before the start until nothing is left: at no moment does one of them leave a child behind, neither as
    # it is started nor as it is stopped.
    with told_to_stop(signal.SIGTERM, signal.SIGINT) as told:
        with log.open("ab") as file:
            child = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=variables, close_fds=False, start_new_session=True
            )
        try:
            while child.poll() is None and not told:
                time.sleep(POLL_S)
                on_poll()
            on_poll()
        finally:
            _stop(child)
    if told:
        raise KeyboardInterrupt if told[0] == signal.SIGINT else SystemExit(128 + told[0].value)
    if child.returncode != 0:
        raise _failed(log, offset, child.returncode)


def _failed(log: Path, offset: int, exit_code: int) -> MadrlError:
    """The error of a child that failed, whose output begins in ``log`` at ``offset``. What the log has of it is printed
    on stderr, unless the error says all."""
    with log.open("rb") as file:
        before = file.read(offset).count(b"\n")
        text = file.read().decode(errors="replace")
    lines = text.split("\n")  # as an editor counts them
    error, failure = last_error(text.splitlines()), failure_of(lines)
    where = "" if failure is None else f"line {before + failure.place + 1} of {log}: {failure.line}"
    if error is not None and error.startswith(OWN_ERROR):  # it says what to do
        own = next(index for index, line in enumerate(lines) if OWN_ERROR in line)
        led_there = f" (before that: {where})" if failure is not None and failure.place < own else ""
        return MadrlError(error.removeprefix(OWN_ERROR) + led_there)
    if failure is not None:
        print("\n".join(lines[max(0, failure.place - LOG_LINES_BEFORE) :][:LOG_TAIL_LINES]), file=sys.stderr)
        return MadrlError(f"{failure.meaning} ({where})")
    print("\n".join(lines[-LOG_TAIL_LINES:]), file=sys.stderr)
    if exit_code < 0:  # so that nothing in the log is of its death
        return MadrlError(
            f"veRL's main process was ended by signal {-exit_code} ({signal.strsignal(-exit_code)}); with 9 the kernel "
            "ends it when the host has no memory left (`dmesg` has a line of that); "
            f"{RESUMES}: the end of {log} is above"
        )
    reason = f" ({error})" if error else ""
    return MadrlError(f"veRL failed with exit code {exit_code}{reason}: the end of {log} is above")


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the child if it still runs, first by SIGINT so that Ray cleans up, and then what is left of its group and its
    session."""
    if child.poll() is None:
        _signal_group(child, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(VERL_PATIENCE_S)
    _signal_group(child, signal.SIGKILL)
    child.wait()
    for number in (signal.SIGTERM, signal.SIGKILL):
        _ends_within(child.pid, LEFT_PATIENCE_S)
        for process in _session(child.pid):
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
    _ends_within(child.pid, LEFT_PATIENCE_S)


def _session(leader: int) -> Iterator[psutil.Process]:
    """The living processes of the session that the process ``leader`` leads, or led."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def _ends_within(leader: int, seconds: float) -> None:
    """Wait until nothing is left of the session, or for so long."""
    deadline = time.monotonic() + seconds
    while any(_session(leader)) and time.monotonic() < deadline:
        time.sleep(POLL_S / 10)


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


@contextlib.contextmanager
def told_to_stop(*numbers: signal.Signals) -> Iterator[list[signal.Signals]]:
    """Yields a list that gains each of these signals as it comes, but for one that this process ignores, as a shell's
    background jobs do with SIGINT: that goes on to mean nothing here, and has its meaning for what is started. It
    works in the main thread only."""
    told: list[signal.Signals] = []
    ignored = {number for number in numbers if signal.getsignal(number) == signal.SIG_IGN}

    def tell(number: int, frame: FrameType | None) -> None:
        if number not in ignored:
            told.append(signal.Signals(number))

    before = {number: signal.signal(number, tell) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent(by: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """A ``preexec_fn`` for Popen: the child gets the signal ``by`` when this process dies, however it dies (Linux).

    A child whose parent was dead before it asked for that ends at once.
    """
    parent = os.getpid()
    libc: Any = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        if by != signal.SIGKILL:
            signal.signal(by, signal.SIG_DFL)  # our handler would only note it, and the exec forgets the handler
        libc.prctl(_PR_SET_PDEATHSIG, by, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask
