"""Memory, process and CPU-weight cgroups of the sandboxes, version 1 and version 2.

One group for the service with a child for each kind of sandbox in each slot. The limits are set for each program;
joining is done by native/enter.c. Where no memory and process controller can be used, the runner's watch is the
portable fallback.
"""

import fcntl
import os
import signal
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import SandboxError

NAME = "madrl-sandbox"
NEEDED = ("memory", "pids")
WEIGHED_SLOTS = 10
"""In version 1 the service's group competes with single threads, so that each slot brings its weight, up to so many."""


@dataclass(frozen=True)
class SlotGroup:
    """The groups of one kind of sandbox in one slot: one directory for each v1 hierarchy, or a single v2 one."""

    version: int
    directories: dict[str, Path]

    @property
    def procs_files(self) -> list[str]:
        """Files that a process writes "0" to in order to join."""
        return sorted({str(path / "cgroup.procs") for path in self.directories.values()})

    @property
    def oom_counter(self) -> Path:
        """A file with a line ``oom_kill N``."""
        return self.directories["memory"] / ("memory.oom_control" if self.version == 1 else "memory.events")

    @property
    def cpu_counter(self) -> Path:
        """A file with the CPU time used: a number of nanoseconds in version 1, a line ``usage_usec N`` in version 2."""
        return (
            self.directories["cpuacct"] / "cpuacct.usage" if self.version == 1 else self.directories["cpu"] / "cpu.stat"
        )

    def limit(self, memory_bytes: int, max_processes: int) -> None:
        """Set the limits of the next program. Raises SandboxError when the kernel refuses."""
        memory = self.directories["memory"]
        try:
            if self.version == 1:
                files = [memory / "memory.limit_in_bytes", memory / "memory.memsw.limit_in_bytes"]
                files = [file for file in files if file.exists()]
                # The plain limit may never exceed the one with swap, so the order depends on the direction.
                growing = memory_bytes > int(files[0].read_text())
                for file in reversed(files) if growing else files:
                    file.write_text(str(memory_bytes))
            else:
                (memory / "memory.max").write_text(str(memory_bytes))
                _write_if_there(memory / "memory.swap.max", "0")
            (self.directories["pids"] / "pids.max").write_text(str(max_processes))
        except OSError as error:
            raise SandboxError(f"cannot set the limits of {memory}: {error}") from error

    def mark(self) -> int:
        """A mark of this moment, which hit_limit_since() takes."""
        if self.version == 1:
            (self.directories["memory"] / "memory.max_usage_in_bytes").write_text("0")
            return 0
        return _counter(self.directories["memory"] / "memory.events", "max")

    def hit_limit_since(self, mark: int) -> bool:
        """Whether the group has met its own memory limit. When it has not, and the kernel killed in it all the same,
        the machine had no memory left. Version 1 no longer counts failures, so that its peak decides."""
        memory = self.directories["memory"]
        if self.version == 1:
            peak, limit = (int((memory / f"memory.{name}_in_bytes").read_text()) for name in ("max_usage", "limit"))
            return peak > 0.95 * limit
        return _counter(memory / "memory.events", "max") > mark

    def oom_kills(self) -> int:
        """How many of the group's processes the kernel has killed for memory."""
        return _counter(self.oom_counter, "oom_kill")

    def problem(self) -> str:
        """What is wrong with the groups. Empty when nothing is: they are there, and take limits."""
        for path in self.directories.values():
            if not (path / "cgroup.procs").exists():
                return f"{path} is gone"
        return ""

    def is_empty(self) -> bool:
        """Whether no process is left in the group."""
        return not any((path / "cgroup.procs").read_text() for path in self.directories.values())

    def kill(self, timeout_s: float = 60.0) -> None:
        """Kill what is left in the group and wait until it is gone, for at most ``timeout_s``."""
        deadline = time.monotonic() + timeout_s
        while not self.is_empty():
            for path in self.directories.values():
                _kill(path)
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)


@dataclass
class Cgroups:
    """The service's own group in each hierarchy."""

    version: int
    bases: dict[str, Path]
    cpu_weight: int
    """CPU weight, where 100 is usual. In version 2 it is the whole service's, because only groups compete with it."""
    locks: list[int]
    """Descriptors that hold the locks of ``bases``, for as long as this process lives."""
    slots: list[dict[str, SlotGroup]] = field(default_factory=list)

    def add_slot(self, kinds: Iterable[str]) -> dict[str, SlotGroup]:
        """The groups of the next slot for each kind of sandbox, made now."""
        groups = {}
        for kind in kinds:
            directories = {name: base / f"slot-{len(self.slots)}-{kind}" for name, base in self.bases.items()}
            for path in directories.values():
                path.mkdir(exist_ok=True)
            groups[kind] = SlotGroup(self.version, directories)
        self.slots.append(groups)
        if self.version == 1 and "cpu" in self.bases:
            shares = 1024 * self.cpu_weight * min(len(self.slots), WEIGHED_SLOTS) // 100
            (self.bases["cpu"] / "cpu.shares").write_text(str(shares))
        return self.slots[-1]

    def remove(self) -> None:
        """Kill whatever is left and remove the groups."""
        for slot in self.slots:
            for group in slot.values():
                group.kill()
        for base in set(self.bases.values()):
            _remove_tree(base)
        for lock in self.locks:
            os.close(lock)


def create(cpu_weight: int) -> Cgroups:
    """The service's groups below its own, with this CPU weight.

    Raises SandboxError that says why there is none: no controller, or no permission.
    """
    reasons = []
    for find in (_version_2, _version_1):
        try:
            return find(cpu_weight)
        except (OSError, SandboxError) as error:
            reasons.append(f"{find.__name__.strip('_').replace('_', ' ')}: {error}")
    raise SandboxError("; ".join(reasons))


def _mounts() -> list[tuple[str, str, Path, set[str]]]:
    """Every cgroup mount as (type, root within the hierarchy, mount point, super options)."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = left.split()
            found.append((kind, fields[3], Path(fields[4]), set(options.split(","))))
    return found


def _own_directory(root: str, mount: Path, path: str) -> Path:
    """The directory of /proc/self/cgroup's ``path`` below ``mount``, which shows the hierarchy from ``root`` on."""
    inside = path[len(root) :] if root != "/" and path.startswith(root) else path
    directory = mount / inside.strip("/")
    return directory if directory.is_dir() else mount


def _own_paths() -> dict[str, str]:
    """Controller -> our path in its hierarchy. The unified hierarchy is under the empty name."""
    paths = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def _version_1(cpu_weight: int) -> Cgroups:
    own, parents = _own_paths(), {}
    for controller in (*NEEDED, "cpuacct", "cpu"):
        mounts = [(root, at) for kind, root, at, options in _mounts() if kind == "cgroup" and controller in options]
        if not mounts:
            if controller != "cpu":
                raise SandboxError(f"no {controller} controller is mounted")
            continue
        parents[controller] = _own_directory(*mounts[0], own.get(controller, "/"))
    name = _new_name()
    locks = [_make(parent, name) for parent in sorted({*parents.values()})]  # cpu and cpuacct are often one hierarchy
    return Cgroups(1, {controller: parent / name for controller, parent in parents.items()}, cpu_weight, locks)


def _version_2(cpu_weight: int) -> Cgroups:
    mounts = [(root, at) for kind, root, at, _ in _mounts() if kind == "cgroup2"]
    if not mounts:
        raise SandboxError("not mounted")
    root, mount = mounts[0]
    own = _own_directory(root, mount, _own_paths().get("", "/"))
    candidates = [own, *(parent for parent in own.parents if parent.is_relative_to(mount))]
    if not set(NEEDED) <= set((mount / "cgroup.controllers").read_text().split()) and mount == own:
        raise SandboxError(f"{mount} has no memory and pids controllers")
    for parent in candidates:
        if not os.access(parent, os.W_OK):
            continue
        _leave_to_leaf(parent)
        _enable(parent)
        base = parent / _new_name()
        lock = _make(parent, base.name)
        if set(NEEDED) <= set((base / "cgroup.controllers").read_text().split()):
            _enable(base)
            _write_if_there(base / "cpu.weight", str(cpu_weight))
            return Cgroups(2, dict.fromkeys((*NEEDED, "cpu"), base), cpu_weight, [lock])
        base.rmdir()
        os.close(lock)
    raise SandboxError(f"no group from {own} up lets us hand out memory and pids (as root, or with Delegate=yes)")


def _enable(group: Path) -> None:
    for controller in (*NEEDED, "cpu"):
        with suppress(OSError):  # the child's cgroup.controllers will say whether it worked
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def _leave_to_leaf(group: Path) -> None:
    """Move to a child group when we are alone in ``group``: a v2 group with processes cannot hand out controllers."""
    if (group / "cgroup.procs").read_text().split() == [str(os.getpid())]:
        leaf = group / f"{NAME}-service"
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").write_text("0")


def _new_name() -> str:
    """A name that no other service has. Its process number would not do: containers number their processes apart."""
    return f"{NAME}-run-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def _make(parent: Path, name: str) -> int:
    """Make a service's group, once those of dead services are gone. Returns a descriptor that holds its lock."""
    with _locked(parent):
        _remove_stale(parent)
        (parent / name).mkdir()
        lock = _lock(parent / name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert lock is not None, "nobody else can lock a new group while its parent is locked"
        return lock


def _lock(group: Path, how: int) -> int | None:
    """A descriptor that holds the lock of a group's directory; None when another process holds it.

    The kernel keeps it on the directory itself, for all containers that see it, and gives it up when the process ends.
    """
    descriptor = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


@contextmanager
def _locked(group: Path) -> Iterator[None]:
    descriptor = _lock(group, fcntl.LOCK_EX)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def _remove_stale(parent: Path) -> None:
    """Remove the groups of services that were killed, which hold no lock, with what is left in them.

    What is left can be a bubblewrap whose first process died before it let the second go on, which then waits for ever.
    The program had not begun in that case.
    """
    for left in parent.glob(f"{NAME}-run-*"):
        with suppress(FileNotFoundError):  # its owner ends at this moment
            if (lock := _lock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)) is not None:
                _remove_tree(left)
                os.close(lock)


def _remove_tree(base: Path) -> None:
    for _ in range(100):
        try:
            for child in base.glob("slot-*"):
                _kill(child)
                child.rmdir()
            base.rmdir()
        except (FileNotFoundError, PermissionError):  # it is gone, or it belongs to another user
            return
        except OSError:
            time.sleep(0.02)
        else:
            return


def _kill(group: Path) -> None:
    for pid in map(int, (group / "cgroup.procs").read_text().split()):
        if pid:  # 0 stands for a process of another PID namespace, and kill(0) would end ourselves
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _counter(file: Path, name: str) -> int:
    lines = (line.split() for line in file.read_text().splitlines())
    return next((int(value) for key, value in lines if key == name), 0)


def _write_if_there(file: Path, text: str) -> None:
    if file.exists():
        file.write_text(text)
