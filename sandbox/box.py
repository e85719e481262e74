"""One sandbox and the conversation with the runner inside it.

The host sends requests over a socket and reads replies (the structs of native/runner.c). Requests are sent ahead of
their replies, so that the runner never waits for the host between two tests. A test's input goes along as a file in
memory that nobody can change.
"""

import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from sandbox.backends import BACKENDS, Jail, View, located
from sandbox.cgroups import SlotGroup
from sandbox.errors import BoxLostError, SandboxError

_REQUEST = struct.Struct("=11I")
_REPLY = struct.Struct("=i5I2Q")
_RUN, _PUT, _GET, _PROGRAM, _CLEAR = 1, 2, 3, 4, 5
_WIPE, _RESIDENT, _ONE_FILE = 1, 2, 4
_WALL, _CPU, _OUTPUT, _MEMORY, _FILES, _FAILED, _STARVED, _MORE = 1, 2, 4, 8, 16, 32, 64, 128
_AHEAD = 64
"""How many requests are sent before their turn."""
_AHEAD_BYTES = 1 << 20
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

HELLO_TIMEOUT_S = 120.0
THREADS = 16
"""Threads for whose stacks an address space has room where RLIMIT_AS bounds it."""
GRACE_S = 60.0
"""How much longer than its limits a reply may take: the machine may be loaded, or have much memory to give back."""


PATIENCE = 60.0
"""How many times its wall limit a program may take when it waits for a core most of the time. It is for a machine that
is as good as dead: a program that gets a ninetieth of a core comes to its CPU limit before."""


@dataclass(frozen=True)
class Limits:
    """The limits of one program. A compiler is a program too."""

    cpu_s: float
    wall_s: float
    """Wall time in which no thread ran or was ready to run: the limit of programs that sleep."""
    patience_s: float
    """Wall time that includes waiting for a core."""
    memory_mb: int
    """Memory of everything in the sandbox together. A cgroup holds it, or the runner's watch where there is none."""
    output_bytes: int = 16 << 20
    """Largest output on each stream."""
    processes: int = 128
    stack_mb: int = 256
    file_mb: int = 256
    bounded_address_space: bool = True
    """Whether RLIMIT_AS is set where there is no memory cgroup. A runtime that reserves much cannot have it."""

    @classmethod
    def of(cls, cpu_s: float, memory_mb: int) -> "Limits":
        """The limits that go with a CPU limit: a wall limit, which a program that sleeps meets, and the patience."""
        wall_s = 3 * cpu_s + 2
        return cls(cpu_s, wall_s, PATIENCE * wall_s, memory_mb)

    def at_most(self, time_s: float) -> "Limits":
        """These limits with at most ``time_s`` of wall time and patience, but a second at least."""
        wall_s, patience_s = (max(1.0, min(limit, time_s)) for limit in (self.wall_s, self.patience_s))
        return replace(self, wall_s=wall_s, patience_s=patience_s)


class RunOutcome(NamedTuple):
    """The result of one run of the program."""

    exit_code: int | None
    signal: int | None
    cpu_s: float
    wall_s: float
    rss_kb: int
    stdout: bytes
    stderr: bytes
    over_cpu: bool
    over_wall: bool
    over_output: bool
    over_memory: bool
    over_files: bool
    starved: bool
    """It ran out of patience, because it waited for a core for most of its time."""
    failed: bool
    """The runner could not start the program at all, or a resident program did not do this test as it should."""
    exec_attempts: int
    """How often it tried to start another program. 0 where the kernel cannot tell (native/runner.c)."""

    @property
    def ended_well(self) -> bool:
        """Whether it ended by itself with status 0, within its limits."""
        return self.exit_code == 0 and not any(self[7:14])


@dataclass(frozen=True)
class Slot:
    """The user, cgroups and tools with which one worker runs its sandboxes. They stay the same for a worker's life."""

    native: str
    """The folder with guard, enter, runner, runner.so, zygote.py and filter.bpf."""
    scratch: str
    """A folder of the slot's own that its user can enter."""
    backend: str = "bubblewrap"
    uid: int = 0
    """User that sandboxes run as. 0 when the service is not root: they run as its own user then."""
    groups: Mapping[str, SlotGroup] = field(default_factory=dict)
    """The cgroups of each kind of sandbox (cgroups.KINDS). Empty where there are none."""
    nice: int = 10


@dataclass
class Box:
    """A running sandbox, which takes one program after another. Use as a context manager: leaving it ends every process
    in it. Raises BoxLostError when it does not start, SandboxError when there is nothing to start.
    """

    slot: Slot
    kind: str
    """Which of the slot's cgroups it is in."""
    view: View
    limits: Limits
    """Of the program that is in it now. Numbers of processes and sizes of stack and files are those it started with."""
    zygote: str | None = None
    """Modules with commas between that the Python zygote imports. None: programs are started by their command."""
    sealed: bool = True
    """Whether what runs inside can start no other program. A compiler has to."""
    programs: int = 0
    """How many programs it has taken."""
    sound: bool = True
    """Whether every run in it has ended well, so that there is no doubt about what a program may have left."""
    _pending: deque[tuple[memoryview, int]] = field(default_factory=deque)
    _received: bytearray = field(default_factory=bytearray)
    _unanswered: int = 0
    _loaded: bool = False
    """Whether a program has been in it since it was wiped."""
    _last_words: bytes = b""

    @property
    def group(self) -> SlotGroup | None:
        """Its cgroups, None where there are none."""
        return self.slot.groups.get(self.kind)

    def __enter__(self) -> "Box":
        self._limit()
        self._folder = Path(self.slot.scratch, self.kind)
        self._folder.mkdir(exist_ok=True)
        self._folder.chmod(0o755)
        self._socket, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()
        self._abandon = os.eventfd(0, os.EFD_CLOEXEC)
        handed = [theirs.fileno(), os.open(f"{self.slot.native}/filter.bpf", os.O_RDONLY | os.O_CLOEXEC), self._abandon]
        opened = handed[1:2]
        if self.group:
            counters = (self.group.oom_counter, self.group.cpu_counter)
            opened += [os.open(counter, os.O_RDONLY | os.O_CLOEXEC) for counter in counters]
            handed += opened[1:]
        try:
            self._process = subprocess.Popen(
                self._argv(handed),
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=handed,
                env={},
                cwd="/",
                start_new_session=True,  # no terminal to push keys into, and a Ctrl-C there drains the service only
            )
        except OSError as error:
            self._put_away()
            raise SandboxError(f"cannot start a sandbox: {error}") from error
        finally:
            theirs.close()
            for fd in opened:
                os.close(fd)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        try:
            self._take(1, time.monotonic() + HELLO_TIMEOUT_S)
        except BoxLostError as error:
            self.__exit__()
            raise BoxLostError(f"the sandbox did not start: {self._said() or error}") from error
        return self

    def _limit(self) -> None:
        if self.group:
            self.group.limit(self.limits.memory_mb << 20, self.limits.processes + 8)

    def _argv(self, handed: list[int]) -> list[str]:
        native, limits = self.slot.native, self.limits
        tools = ("runner",) if self.zygote is None else ("zygote.py", "runner.so")
        own = ((str(self._folder), "/box"), *((f"{native}/{tool}", f"/sandbox/{tool}") for tool in tools))
        self.view = replace(self.view, binds=(*self.view.binds, *own))
        jail = Jail(
            view=self.view,
            enter=f"{native}/enter",
            uid=self.slot.uid,
            nice=self.slot.nice,
            procs_files=self.group.procs_files if self.group else (),
        )
        zygote = ["/usr/bin/python3", "-s", "/sandbox/zygote.py", "/sandbox/runner.so", "/box", self.zygote or ""]
        start = ["/sandbox/runner"] if self.zygote is None else zygote
        fds = handed if self.group else (*handed, -1, -1)
        numbers = (*fds, limits.processes, limits.stack_mb, limits.file_mb, int(self.sealed))
        return [f"{native}/guard", *BACKENDS[self.slot.backend](jail, [*start, *map(str, numbers)])]

    def load(self, folder: str | None, command: Sequence[str], limits: Limits) -> None:
        """Take the next program: nothing of the one before is left. ``folder`` has its files, which it sees at /box;
        ``command`` is its argument vector, which a zygote does not need. Raises BoxLostError, SandboxError."""
        self.unload()
        self.limits = limits
        self._limit()  # what the one before has left in memory would not fit into a lower one
        self._loaded = True
        if folder is not None:
            _link(folder, self._folder)
        self._next_program(command)
        self.programs += 1

    def unload(self) -> None:
        """End what was asked for and not waited for, and a resident program, and put the program's files away, those
        too that it has made: they would fill memory for as long as no other comes. Raises BoxLostError."""
        if self._unanswered:
            os.eventfd_write(self._abandon, 1)
        while self._unanswered:
            self._reply(time.monotonic() + GRACE_S)
        if self._loaded:
            self._loaded = False
            self._next_program([])
        _empty(self._folder)

    def _next_program(self, command: Sequence[str]) -> None:
        arguments = b"".join(part.encode() + b"\0" for part in located(self.slot.backend, self.view, command))
        self._send(_REQUEST.pack(_PROGRAM, 0, 0, len(arguments), *[0] * 7) + arguments)
        self._reply(time.monotonic() + GRACE_S)

    def __exit__(self, *_: object) -> None:
        """Close the socket, at which the runner kills and reaps everything, and kill what does not end by itself."""
        self._socket.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # the guard, which takes the others with it
            self._process.wait()
        if self.group and not self.group.is_empty():
            self.group.kill()
        self._put_away()

    def _put_away(self) -> None:
        if self._errors.closed:
            return
        self._errors.seek(0)
        self._last_words = self._errors.read(4096)
        self._errors.close()
        self._socket.close()
        os.close(self._abandon)
        for _, fd in self._pending:
            if fd >= 0:
                os.close(fd)
        _empty(self._folder)

    def _said(self) -> str:
        return self._last_words.decode(errors="replace").strip()

    def clear(self) -> None:
        """Remove what runs have left, and the files that were put. Raises BoxLostError."""
        self._send(_REQUEST.pack(_CLEAR, *[0] * 10))
        self._reply(time.monotonic() + GRACE_S)

    def put(self, path: str, content: bytes) -> None:
        """Write a file inside. Raises BoxLostError."""
        self._send(_REQUEST.pack(_PUT, 0, len(path.encode()), len(content), *[0] * 7) + path.encode() + content)
        if self._reply(time.monotonic() + GRACE_S)[1] & _FAILED:
            raise BoxLostError(f"could not write {path!r} in the sandbox")

    def get(self, path: str, limit_bytes: int) -> dict[str, bytes] | None:
        """Path -> content of every regular file at or under ``path``. None when there is none, or they exceed
        ``limit_bytes``. Raises BoxLostError."""
        return self._get(path, limit_bytes, 0)

    def get_file(self, path: str, limit_bytes: int) -> bytes | None:
        """The content of the regular file ``path``. None when there is none, as where a folder is, or it exceeds
        ``limit_bytes``. Raises BoxLostError."""
        return (self._get(path, limit_bytes, _ONE_FILE) or {}).get(path)

    def _get(self, path: str, limit_bytes: int, flags: int) -> dict[str, bytes] | None:
        name = path.encode()
        self._send(_REQUEST.pack(_GET, flags, len(name), 0, 0, 0, 0, limit_bytes, 0, 0, 0) + name)
        _, flags, _, _, _, _, blob, _ = self._reply(time.monotonic() + GRACE_S)
        if flags & _FAILED:
            return None
        files, at = {}, 0
        while at < len(blob):
            name_length, size = struct.unpack_from("=2I", blob, at)
            start = at + 8 + name_length
            files[os.fsdecode(blob[at + 8 : start])] = blob[start : start + size]
            at = start + size
        return files

    def run(self, inputs: Sequence[bytes], resident: bool = False) -> Iterator[RunOutcome]:
        """Run the program once on each input, in order, with nothing left of the one before. Raises BoxLostError.

        ``resident``: the command is one process that takes every input in turn (native/Loop.java). An outcome that has
        not ``failed`` is then of a test that it did in full, within the limits; after one that has, all others have.
        """
        sent = done = ahead = 0
        timeout = self.limits.patience_s + GRACE_S
        while done < len(inputs):
            while sent < len(inputs) and sent - done < _AHEAD and (sent == done or ahead < _AHEAD_BYTES):
                flags = (_WIPE if sent else 0) | (_RESIDENT if resident else 0)
                self._send(self._run_request(flags), _sealed(inputs[sent]))
                ahead += len(inputs[sent])
                sent += 1
            outcome = self._outcome(time.monotonic() + timeout)
            ahead -= len(inputs[done])
            done += 1
            self.sound = self.sound and outcome.ended_well
            yield outcome

    def _run_request(self, flags: int) -> bytes:
        limits, watched = self.limits, self.group is None
        return _REQUEST.pack(
            _RUN,
            flags,
            0,
            0,
            round(limits.cpu_s * 1000),
            round(limits.wall_s * 1000),
            round(limits.patience_s * 1000),
            limits.output_bytes,
            4 * limits.memory_mb + 1024 + THREADS * limits.stack_mb if watched and limits.bounded_address_space else 0,
            limits.memory_mb << 10 if watched else 0,
            5 if watched else 20,
        )

    def _outcome(self, deadline: float) -> RunOutcome:
        status, flags, rss_kb, exec_attempts, cpu_us, wall_us, stdout, stderr = self._reply(deadline)
        return RunOutcome(
            exit_code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            cpu_s=cpu_us / 1e6,
            wall_s=wall_us / 1e6,
            rss_kb=rss_kb,
            stdout=stdout,
            stderr=stderr,
            over_cpu=bool(flags & _CPU),
            over_wall=bool(flags & _WALL),
            over_output=bool(flags & _OUTPUT),
            over_memory=bool(flags & _MEMORY),
            over_files=bool(flags & _FILES),
            starved=bool(flags & _STARVED),
            failed=bool(flags & _FAILED),
            exec_attempts=exec_attempts,
        )

    def _reply(self, deadline: float) -> tuple[int, int, int, int, int, int, bytes, bytes]:
        pieces: list[bytes] = []
        while True:
            header = self._take(_REPLY.size, deadline)
            status, flags, rss_kb, out_length, err_length, exec_attempts, cpu_us, wall_us = _REPLY.unpack(header)
            pieces.append(self._take(out_length, deadline))
            if not flags & _MORE:
                break
        self._unanswered -= 1
        stderr = self._take(err_length, deadline)
        return status, flags, rss_kb, exec_attempts, cpu_us, wall_us, b"".join(pieces), stderr

    def _send(self, request: bytes, fd: int = -1) -> None:
        """Queue a request for sending, with a descriptor that is closed then. What the socket does not take now goes
        out while replies are awaited."""
        self._pending.append((memoryview(request), fd))
        self._unanswered += 1
        self._flush()

    def _flush(self) -> None:
        how = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
        try:
            while self._pending:
                data, fd = self._pending[0]
                sent = socket.send_fds(self._socket, [data], [fd], how) if fd >= 0 else self._socket.send(data, how)
                if fd >= 0:
                    os.close(fd)
                self._pending[0] = (data[sent:], -1)
                if sent == len(data):
                    self._pending.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            raise BoxLostError(f"the sandbox ended: {error}") from error
        self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if self._pending else 0))

    def _take(self, n: int, deadline: float) -> bytes:
        while len(self._received) < n:
            left = deadline - time.monotonic()
            ready = self._poll.poll(max(0, left) * 1000)
            if not ready:
                raise BoxLostError("the sandbox did not answer in time")
            if ready[0][1] & select.POLLOUT:
                self._flush()
            if ready[0][1] & ~select.POLLOUT:
                try:
                    data = self._socket.recv(1 << 18)
                except OSError as error:
                    raise BoxLostError(f"the sandbox ended: {error}") from error
                if not data:
                    raise BoxLostError("the sandbox ended")
                self._received += data
        taken = bytes(self._received[:n])
        del self._received[:n]
        return taken


def _sealed(content: bytes) -> int:
    """A descriptor of a file in memory with this content, which nobody can change, at its beginning."""
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _empty(folder: Path) -> None:
    for old in folder.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()


def _link(source: str, folder: Path) -> None:
    """Have the files of ``source`` in ``folder``. They are links: the folder is seen read-only."""
    for at, _, files in os.walk(source):
        inside = folder / Path(at).relative_to(source)
        inside.mkdir(exist_ok=True)
        inside.chmod(0o755)
        for name in files:
            os.link(f"{at}/{name}", inside / name)
