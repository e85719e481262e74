"""The real service as a subprocess, run by root and by an unprivileged user, and what it must not leave behind.

``service`` is parametrised over who runs it. Tests get all they do with it from the fixture.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from sandbox.__main__ import UID_BASE
from sandbox.state import default_state_folder

REPOSITORY = Path(__file__).parents[1]
UNPRIVILEGED = 61000 + os.getpid() % 3000
"""A user and group id that no account has, and that two runs of the tests at once do not share."""
SLOTS = 2
START_S, STOP_S, SETTLE_S = 1200, 600, 300
"""Seconds to wait for /health (a first start builds caches), for an exit after SIGTERM, and until all is quiet."""
ANSWER_S = 300
"""Seconds that a request may take."""
TRIES = 5
OVERLOADED = "the machine is overloaded"
"""The beginning of an IE's message that says nothing about the service."""
FD_TOLERANCE = 4
COMPILED = re.compile(r"/[0-9a-f]{32}$|/slot-\d+/\w+")
"""The folder of a compiled program, which the service keeps, or what a kept sandbox sees of it."""
WARM_UP = {
    "python": "print('ready')",
    "cpp": '#include <cstdio>\nint main() { puts("ready"); }',
    "c": '#include <stdio.h>\nint main(void) { puts("ready"); }',
    "java": 'class Main { public static void main(String[] a) { System.out.println("ready"); } }',
    "go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("ready") }',
    "javascript": "console.log('ready')",
}
"""A right answer in each language, so that what a service starts once and keeps is there before anything is counted."""
HELD = """import ctypes, os, time
ctypes.CDLL(None).prctl(15, b'held')
while not os.path.exists('/box/go'): time.sleep(0.02)
print('done')
"""


@dataclass(frozen=True)
class Runner:
    """Who runs the service, and how its Python is called."""

    name: str
    uid: int
    python: str
    pythonpath: str
    checkout: Path


@dataclass(frozen=True)
class Traces:
    """What a service holds of the machine at one moment. Everything is counted by name: what idles may be replaced."""

    processes: Counter[str]
    cgroups: Counter[str]
    files: Counter[str]
    mounts: Counter[str]
    fds: int

    def beyond(self, allowed: "Traces") -> dict[str, Any]:
        """Kind -> what is here and not in ``allowed``. Empty when there is nothing."""
        extra: dict[str, Any] = {}
        for kind in ("processes", "cgroups", "files", "mounts"):
            if more := getattr(self, kind) - getattr(allowed, kind):
                extra[kind] = dict(more)
        if self.fds > allowed.fds + FD_TOLERANCE:
            extra["fds"] = f"{self.fds}, at most {allowed.fds} + {FD_TOLERANCE} expected"
        return extra

    def __or__(self, other: "Traces") -> "Traces":
        """A snapshot with the larger count of the two for each thing."""
        return Traces(
            self.processes | other.processes,
            self.cgroups | other.cgroups,
            self.files | other.files,
            self.mounts | other.mounts,
            max(self.fds, other.fds),
        )


class Service:
    """``python -m sandbox`` on a free loopback port, with its files in a folder of its own."""

    def __init__(self, runner: Runner, base: Path, *arguments: str) -> None:
        self.runner, self.base, self.arguments = runner, base, arguments
        self.state, self.log = base / "state", base / "service.log"
        self.secret = f"planted-{os.urandom(16).hex()}"
        """A value in the service's environment that no program may ever see."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        limits = httpx.Limits(max_keepalive_connections=0)  # both ends would close an idle one at the same time
        self.client = httpx.Client(base_url=self.url, timeout=ANSWER_S, limits=limits, trust_env=False)
        """An HTTP client that is kept: making one costs more than most requests."""
        self.run_folder = Path()
        """The folder in which the running service keeps compiled programs."""
        self.process: subprocess.Popen[bytes] | None = None
        self.idle: Traces | None = None
        for folder in (self.state, base / "tmp", base / "home"):
            folder.mkdir(mode=0o700)
            os.chown(folder, runner.uid, runner.uid if os.getuid() == 0 else -1)

    @property
    def pid(self) -> int:
        """The process number of the service itself."""
        assert self.process is not None, "the service is not running"
        return self.process.pid

    @property
    def checkout(self) -> Path:
        """The folder that holds the ``sandbox`` package which this service runs."""
        return self.runner.checkout

    def start(self) -> None:
        """Start it and wait until it answers; the same port and folders each time."""
        command = [self.runner.python, "-m", "sandbox", "--port", str(self.port), "--slots", str(SLOTS)]
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.base / "home"),
            "TMPDIR": str(self.base / "tmp"),
            "PYTHONPATH": self.runner.pythonpath,
            "MADRL_PLANTED_SECRET": self.secret,
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--state-dir", str(self.state), *self.arguments],
                cwd=self.runner.checkout,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **_as_user(self.runner.uid),
            )
        deadline = time.monotonic() + START_S
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"the service did not start (exit {self.process.returncode}):\n{self.tail()}")
            time.sleep(0.1)
        self.run_folder = Path(self.get("/health").json()["run_folder"])

    def healthy(self) -> bool:
        """Whether GET /health answers 200."""
        try:
            return self.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send SIGTERM or another signal, and return the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"the service did not stop in {STOP_S} s after signal {number}:\n{self.tail()}")

    def kill(self) -> None:
        """Send SIGKILL to the service alone."""
        if self.process:
            self.process.kill()
            self.process.wait(STOP_S)

    def kill_if_running(self) -> None:
        """Stop the service at the end of a test that has not stopped it."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def tail(self) -> str:
        """The end of its log, without the lines about single requests."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if '"event": "judged"' not in line]
        return "\n".join(lines)[-6000:]

    @property
    def protection(self) -> str:
        """The level that it reports."""
        return str(self.get("/health").json()["protection"])

    def get(self, path: str) -> httpx.Response:
        """GET a path."""
        return self.client.get(path)

    def judge(self, *, retry: bool = True, **fields: Any) -> dict[str, Any]:
        """POST /judge; anything but 200 fails the test. ``retry``: ask again when the machine was overloaded."""
        return self._post("/judge", fields, retry)

    def run_code(self, *, retry: bool = True, **fields: Any) -> dict[str, Any]:
        """POST /run_code; anything but 200 fails the test. ``retry``: ask again then and on 504."""
        return self._post("/run_code", fields, retry)

    def _post(self, path: str, fields: dict[str, Any], retry: bool) -> dict[str, Any]:
        # json.dumps and not httpx's own, which cannot send a lone surrogate; JSON can carry one.
        body, kind = json.dumps(fields), {"content-type": "application/json"}
        for left in reversed(range(TRIES if retry else 1)):
            response = self.client.post(path, content=body, headers=kind)
            if response.status_code == 504 and left:
                time.sleep(TRIES - left)
                continue
            assert response.status_code == 200, f"{path} answered {response.status_code}: {response.text[:3000]}"
            answer: dict[str, Any] = response.json()
            if not left or not answer["message"].startswith(OVERLOADED):
                return answer
        raise AssertionError("unreachable")

    def held(self) -> str:
        """A Python program that prints ``done`` when it is let go. Each is different, so that each is compiled."""
        return f"{HELD}# {os.urandom(8).hex()}"

    def holds(self) -> int:
        """How many of the held programs run."""
        return self.count("held")

    @contextlib.contextmanager
    def letting_go(self, once: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Let the held programs go during the block, as soon as ``once`` has held, and those compiled later."""
        over = threading.Event()

        def work() -> None:
            begun = False
            while not over.wait(0.05):
                begun = begun or once()
                with contextlib.suppress(OSError):  # the folder goes with the service
                    for main in self.run_folder.glob("slot-*/*/main.py") if begun else ():
                        if b"/box/go" in main.read_bytes():
                            (main.parent / "go").touch()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def starve(self, thousandths: int, period_us: int = 100_000) -> None:
        """Give its programs so many thousandths of one core together. Skips the test where that cannot be done."""
        files = self._controls("cpu.cfs_quota_us", "cpu.max")
        if not files:
            pytest.skip("CPU bandwidth cannot be limited here: no CPU controller, or not as this user")
        quota_us = period_us * thousandths // 1000
        for file in files:
            if file.name == "cpu.cfs_quota_us":
                file.with_name("cpu.cfs_period_us").write_text(str(period_us))
                file.write_text(str(quota_us))
            else:
                file.write_text(f"{quota_us} {period_us}")

    def leave_memory(self, megabytes: int) -> None:
        """Give its programs so much memory together, as a machine that has no more. Skips the test where that cannot be
        done."""
        files = self._controls("memory.limit_in_bytes", "memory.max")
        if not files:
            pytest.skip("memory cannot be limited here: no memory controller, or not as this user")
        for file in files:
            file.write_text(str(megabytes << 20))

    def memory_bytes(self) -> int:
        """How much memory its programs hold together, files included. Skips the test where that is not known."""
        files = self._controls("memory.usage_in_bytes", "memory.current")
        if not files:
            pytest.skip("nobody counts memory here: no memory controller, or not as this user")
        return int(files[0].read_text())

    def _controls(self, *names: str) -> list[Path]:
        """The files of these names in the group of all its programs, as far as they are there."""
        folders = [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup")]
        own = f"madrl-sandbox-run-{self.pid}-"
        files = [folder / name for folder in folders if folder.name.startswith(own) for name in names]
        return [file for file in files if file.exists()]

    def count(self, name: str) -> int:
        """How many of the service's processes have this name."""
        count = 0
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                count += process.name() == name
        return count

    def judges_correctly(self, language: str) -> None:
        """Check that every slot accepts a right answer."""
        fields: dict[str, Any] = {
            "language": language,
            "code": WARM_UP[language],
            "tests": [{"output": "ready"}],
            "time_limit_s": 10,
        }
        with ThreadPoolExecutor(SLOTS) as pool:
            answers = list(pool.map(lambda _: self.judge(**fields), range(SLOTS)))
        assert [answer["verdict"] for answer in answers] == ["AC"] * SLOTS, answers

    def warm_up(self) -> None:
        """One right answer per language and slot; what is there afterwards is what an idle service holds."""
        for language in WARM_UP:
            self.judges_correctly(language)
        time.sleep(0.5)
        self.idle = self.traces()

    def processes(self) -> list[psutil.Process]:
        """The service's descendants, and whatever else on this machine runs in or for one of its sandboxes."""
        own = {self.process.pid} if self.process else set()
        with contextlib.suppress(psutil.NoSuchProcess):
            own |= {child.pid for child in psutil.Process(self.pid).children(recursive=True)}
        own |= {pid for pid in psutil.pids() if self._mentions_its_folder(pid)}
        found = []
        for pid in own - {self.process.pid if self.process else -1, os.getpid()}:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
        return found

    def _mentions_its_folder(self, pid: int) -> bool:
        """A sandbox mounts files from the service's folder, and its backend is told so on the command line."""
        if self.runner.uid == UNPRIVILEGED:
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}").stat().st_uid == UNPRIVILEGED:
                    return True
        for name in ("cmdline", "mountinfo"):
            with contextlib.suppress(OSError):
                if str(self.base).encode() in Path(f"/proc/{pid}/{name}").read_bytes():
                    return True
        return False

    def traces(self) -> Traces:
        """What the service holds now."""
        processes: Counter[str] = Counter()
        pids = set()
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                processes[f"{process.name()} ({process.status()})" if _is_dead(process) else process.name()] += 1
                pids.add(process.pid)
        cgroups: Counter[str] = Counter()
        for folder, _, _ in os.walk("/sys/fs/cgroup"):  # not a glob, which raises when another service's group goes
            if f"/madrl-sandbox-run-{self.pid}-" in folder:
                with contextlib.suppress(OSError):
                    members = {int(line) for line in Path(folder, "cgroup.procs").read_text().split()}
                    cgroups[f"in {folder.split('/')[4]}"] += len(members & pids)
        return Traces(processes, +cgroups, self._files(), Counter(_mounts()), psutil.Process(self.pid).num_fds())

    def _files(self) -> Counter[str]:
        """Folder -> files: the service's own but for compiled programs, ownerless ones in world-writable folders."""
        files: Counter[str] = Counter()
        for folder, _, names in os.walk(self.base):
            if not COMPILED.search(folder):
                files[str(Path(folder).relative_to(self.base))] += len(names)
        for folder in ("/tmp", "/var/tmp", "/dev/shm"):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        owner = entry.stat(follow_symlinks=False).st_uid
                        if owner in (UNPRIVILEGED, *range(UID_BASE, UID_BASE + SLOTS)):
                            files[entry.path] += 1
        return +files

    @contextlib.contextmanager
    def leaves_nothing_behind(self) -> Iterator[None]:
        """Check that the service holds the same after the block as before it, and still judges."""
        before = self.traces()
        allowed = before | self.idle if self.idle else before
        yield
        deadline = time.monotonic() + SETTLE_S
        while True:
            is_last = time.monotonic() > deadline  # asked before the look, or the deadline could pass between the two
            if not (extra := self.traces().beyond(allowed)):
                break
            if is_last:
                pytest.fail(f"left behind after {SETTLE_S} s: {extra}\n{self.tail()}")
            time.sleep(0.05)
        self.judges_correctly("cpp")


def _is_dead(process: psutil.Process) -> bool:
    return bool(process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))


def _mounts() -> list[str]:
    """The lines of all mounts without the numbers that identify them, and without those that firejail leaves when it
    first starts on a host, which may be in the middle of another process's test."""
    lines = [" ".join(line.split()[3:]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [line for line in lines if not line.startswith("/run/firejail/")]


def _as_user(uid: int) -> dict[str, Any]:
    """The arguments of Popen that choose the user. There are none when it is this user."""
    return {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}


def _runner(name: str, base: Path) -> Runner:
    """Skip the test, with the reason, when the service cannot be run that way here."""
    site_packages = sysconfig.get_path("purelib")
    if name == "root" or os.getuid() != 0:
        if name == "root" and os.getuid() != 0:
            pytest.skip("only root can run the service as root")
        return Runner(name, os.getuid(), sys.executable, str(REPOSITORY), REPOSITORY)
    checkout = base / "checkout"
    shutil.copytree(REPOSITORY / "sandbox", checkout / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [checkout, *checkout.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or (os.access(path, os.X_OK) and path.suffix == ".sh") else 0o644)
    # The environment's interpreter may lie under a private home; Debian's of the same version loads its packages too.
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    problems = []
    for python in (sys.executable, "/usr/bin/python3"):
        runner = Runner(name, UNPRIVILEGED, python, f"{site_packages}:{checkout}", checkout)
        check = (
            f"import sys; assert '%d.%d' % sys.version_info[:2] == '{version}', sys.version; import fastapi, uvicorn"
        )
        try:
            tried = subprocess.run(
                [python, "-c", check],
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": runner.pythonpath},
                capture_output=True,
                text=True,
                **_as_user(UNPRIVILEGED),
            )
        except OSError as error:
            problems.append(f"{python}: {error}")
            continue
        if tried.returncode == 0:
            return runner
        problems.append(f"{python}: {tried.stderr.strip().splitlines()[-1]}")
    pytest.skip(f"no Python {version} with fastapi that uid {UNPRIVILEGED} can run: {'; '.join(problems)}")


@pytest.fixture(scope="session", params=["root", "user"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """The service as a run starts it, by root (skipped when the tests are not) and by a user without privileges."""
    base = Path(tempfile.mkdtemp(prefix="madrl-judge-", dir="/tmp"))  # pytest's own folders are closed to other users
    base.chmod(0o755)
    try:
        running = Service(_runner(request.param, base), base, "--java-loop")
        running.start()
        try:
            running.warm_up()
            yield running
            assert running.stop() == 0, running.tail()
            deadline = time.monotonic() + SETTLE_S
            while True:
                is_last = time.monotonic() > deadline  # before the look
                if not (left := running.processes()):
                    break
                if is_last:
                    pytest.fail(f"the stopped service left {left}")
                time.sleep(0.05)
        finally:
            running.kill_if_running()
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def own_service() -> Iterator[Callable[..., Service]]:
    """A function that starts another service, with more arguments, run by whoever runs the tests; it shares the
    machine's usual state folder, so that nothing is built again."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> Service:
            base = Path(tempfile.mkdtemp(prefix="madrl-judge-", dir="/tmp"))
            base.chmod(0o755)
            stack.callback(shutil.rmtree, base, ignore_errors=True)
            runner = Runner("own", os.getuid(), sys.executable, str(REPOSITORY), REPOSITORY)
            started = Service(runner, base, "--state-dir", str(default_state_folder()), *arguments)
            stack.callback(started.kill)
            started.start()
            return started

        yield start
