"""``python -m sandbox.bench``: what judging costs, against doing without a sandbox.

For each language one tiny program and 125 tests, three ways, in one run on one machine:

floor    the compiled program spawned and waited for once a test, no sandbox: what judging costs at least
bwrap    the same, with a bubblewrap of its own around every test
service  this service, over HTTP; for Java once more with its loop (--java-loop)

CPU is everything that the way costs: the programs, whoever starts them and, for the service, every process of it; the
client's own is not counted. Programs a second are with as many at once as there are cores. The ratio is the floor's CPU
over the service's: at 1 the sandbox is free. Compiling is measured apart, against the plain compiler.
"""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from sandbox import state
from sandbox.backends import Jail, View, bubblewrap
from sandbox.languages import CANARIES, LANGUAGES, Toolchain

PLAIN_COMPILE = {
    "python": ("/usr/bin/python3", "-m", "py_compile", "main.py"),
    "cpp": ("g++", "-std=gnu++20", "-O2", "main.cpp", "-o", "main"),
    "java": ("javac", "Canary.java"),
    "go": ("go", "build", "-o", "main", "main.go"),
    "javascript": ("node", "--check", "main.js"),
}
"""The command that one would type to compile a canary by hand."""


class Cost(NamedTuple):
    """The cost of one program with all its tests."""

    cpu_s: float
    programs_per_s: float


class Bare(NamedTuple):
    """A language without the service; ``compile_s`` is the plain compiler's."""

    floor: Cost
    bwrap: Cost
    compile_s: float


class Served(NamedTuple):
    """A language with the service; ``http_share`` is the front process's part of the CPU."""

    cost: Cost
    http_share: float
    compile_s: float


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=125, help="tests a program")
    parser.add_argument(
        "--programs", type=int, default=8, help="programs a way and language (Java and JavaScript: a quarter)"
    )
    parser.add_argument("--languages", nargs="+", choices=sorted(LANGUAGES), default=sorted(LANGUAGES))
    arguments = parser.parse_args()
    cores = os.cpu_count() or 1
    folder = state.open_state(state.default_state_folder())
    table = Table(
        "language", "floor", "bwrap", "service", "ratio", "HTTP", "floor", "bwrap", "service", "plain", "service"
    )
    title = f"{arguments.tests} tests a program: CPU s a program | programs/s on {cores} cores | compile, wall s"
    table.title = title
    tests = arguments.tests
    with running_service(cores) as service, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        Path(scratch).chmod(0o755)
        for language in arguments.languages:
            programs = max(cores, arguments.programs // (4 if language in ("java", "javascript") else 1))
            bare = measure_bare(language, programs, tests, folder, Path(scratch))
            table.add_row(*row(language, bare, measure_service(language, programs, tests, service)))
            if language == "java":
                with running_service(cores, "--java-loop") as looping:
                    served = measure_service(language, arguments.programs, tests, looping)
                table.add_row(*row("java (loop)", bare, served))
            Console(stderr=True).print(f"{language}: measured")
    Console(width=140).print(table)


def measure_bare(language: str, programs: int, tests: int, folder: Path, scratch: Path) -> Bare:
    """The costs without the service: of the bare command, and of the command in bubblewrap."""
    toolchain = LANGUAGES[language](folder)
    source = scratch / language
    source.mkdir(mode=0o755)
    (source / toolchain.source_name(CANARIES[language])).write_text(CANARIES[language])
    plain_compile_s = timed(lambda: compile_plain(language, source))
    (source / "in").write_text("40 2\n")
    command = run_command(toolchain, source)
    floor = measure(command, programs, tests, source)
    view = View(binds=(*toolchain.run_view.binds, (str(source), "/box")), environment=toolchain.run_view.environment)
    jail = Jail(view, f"{state.native_tools(folder)}/enter", 65099 if os.geteuid() == 0 else 0, 0)
    inside = [part.replace(str(source), "/box") for part in command]
    return Bare(floor, measure(bubblewrap(jail, inside), programs, tests, source), plain_compile_s)


def row(name: str, bare: Bare, served: Served) -> list[str]:
    """One line of the table."""
    ways = (bare.floor, bare.bwrap, served.cost)
    return [
        name,
        *(f"{cost.cpu_s:.3f}" for cost in ways),
        f"[bold]{bare.floor.cpu_s / served.cost.cpu_s:.2f}",
        f"{served.http_share:.1%}",
        *(f"{cost.programs_per_s:.2f}" for cost in ways),
        f"{bare.compile_s:.2f}",
        f"{served.compile_s:.2f}",
    ]


def compile_plain(language: str, source: Path) -> None:
    """Compile the canary in the folder ``source``, as one would by hand."""
    environment = {"PATH": "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(source)}
    subprocess.run(PLAIN_COMPILE[language], cwd=source, check=True, env=environment)


def run_command(toolchain: Toolchain, source: Path) -> list[str]:
    """The service's own command for the program, on the plainly compiled files."""
    argv = toolchain.run_argv({"java": "Canary", "javascript": "main.js"}.get(toolchain.name, "main"), 256)
    return [part.replace("/box", str(source)) for part in argv or ["/usr/bin/python3", "/box/main.py"]]


def measure(command: list[str], programs: int, tests: int, source: Path) -> Cost:
    """``programs`` times ``tests`` runs of a command, as many loops at once as there are cores."""
    cores = os.cpu_count() or 1
    started = time.monotonic()
    with ProcessPoolExecutor(min(cores, programs)) as pool:
        cpu = sum(pool.map(spawn_loop, [command] * programs, [tests] * programs, [str(source / "in")] * programs))
    return Cost(cpu / programs, programs / (time.monotonic() - started))


def spawn_loop(command: list[str], tests: int, stdin: str) -> float:
    """Run a command once for each test and read what it prints. Returns the CPU seconds of both processes."""
    before = sum(os.times()[:4])
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}
    for _ in range(tests):
        out, theirs = os.pipe()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_CLOSE, out),
        ]
        child = os.posix_spawn(command[0], command, environment, file_actions=actions)
        os.close(theirs)
        printed = os.read(out, 1 << 16)
        os.close(out)
        _, status = os.waitpid(child, 0)
        if status or printed.split() != [b"42"]:
            raise SystemExit(f"{command} ended with status {status} and printed {printed[:200]!r}")
    return sum(os.times()[:4]) - before


def measure_service(language: str, programs: int, tests: int, running: tuple[str, psutil.Process]) -> Served:
    """The cost of the canary over HTTP, with as many requests at once as there are cores."""
    url, service = running
    fields = {
        "language": language,
        "code": CANARIES[language],
        "tests": [{"input": "40 2\n", "output": "42\n"}] * tests,
        "time_limit_s": 10,
    }

    def judge(_: int) -> float:
        answer = httpx.post(f"{url}/judge", json=fields, timeout=600).raise_for_status().json()
        if answer["verdict"] != "AC":
            raise SystemExit(f"{language}: {answer}")
        return float(answer["compile"]["wall_s"])

    compile_s = judge(0)
    front, everything = service.cpu_times(), tree_cpu(service)
    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(judge, range(programs)))
    wall = time.monotonic() - started
    total = tree_cpu(service) - everything
    after = service.cpu_times()
    share = (after.user + after.system - front.user - front.system) / total
    return Served(Cost(total / programs, programs / wall), share, compile_s)


def tree_cpu(service: psutil.Process) -> float:
    """CPU seconds of the service's processes and of all that they waited for."""
    times = [process.cpu_times() for process in (service, *service.children())]
    return float(sum(t.user + t.system for t in times) + sum(t.children_user + t.children_system for t in times[1:]))


def timed(work: Callable[[], None]) -> float:
    """The wall seconds that ``work`` takes."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


@contextlib.contextmanager
def running_service(slots: int, *arguments: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run the service on a free port. Yields its address and its front process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sandbox", "--port", str(port), "--slots", str(slots), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            if process.poll() is not None:
                raise SystemExit(f"the service ended with status {process.returncode}: run {' '.join(command)}")
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{url}/health").status_code == 200:
                    break
            time.sleep(0.2)
        yield url, psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


if __name__ == "__main__":
    main()
