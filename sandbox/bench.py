"""``python -m sandbox.bench``: what judging costs, against doing without a sandbox, and against another judge.

For each language one tiny program and 125 tests, in these ways, in one run on one machine:

bare     the compiled program run once a test by Python's subprocess.run, no sandbox: what one writes first
floor    the same by vfork and exec, and nothing else: what judging costs at least
bwrap    as the floor, with a bubblewrap of its own around every test
service  this service, over HTTP; for Java once more with its loop (--java-loop)
Fusion   ByteDance's SandboxFusion, as it was measured elsewhere (FUSION_CPU_S): no figure of this run

CPU is everything that the way costs: the programs, whoever starts them and, for the service, every process of it; the
client's own is not counted. Programs a second are with as many at once as there are cores. The ratio is the floor's CPU
over the service's: at 1 the sandbox is free. Compiling is measured apart, against the plain compiler. "HTTP" is the
front process's part of the service's CPU; so many slots as go into the rest of it keep that process busy all the time.
"1 test" is the CPU time that the service takes for a program with one test that it has compiled before: what each
program costs it besides its tests. Last, requests of that kind at one service and at two, with a slot a core together.
``python -m sandbox.starts`` has more on Java and JavaScript.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
from rich import box
from rich.console import Console
from rich.table import Table

from sandbox import state
from sandbox.backends import CLEAN_ENVIRONMENT, Jail, View, bubblewrap, located
from sandbox.languages import CANARY_INPUT, CANARY_OUTPUT, LANGUAGES, filled_in

ONE_TEST_PROGRAMS = 100
"""How many programs with one test are measured."""

REQUESTS = 2000
"""How many are made to find out how many a service takes a second."""

FUSION_TESTS = 125
FUSION_CPU_S = {"cpp": 121.0, "java": 98.0, "python": 1.70, "javascript": 3.30, "go": math.inf}
"""Language -> the CPU seconds that SandboxFusion took for a program with FUSION_TESTS tests; infinite where it failed.
Measured elsewhere, on the kind of machine that this service was made on, by a command that is not known."""


class Cost(NamedTuple):
    """The cost of one program with all its tests, in one way."""

    cpu_s: float
    programs_per_s: float
    compile_s: float = math.nan
    http_s: float = math.nan
    """The CPU seconds that the service's front process takes of it."""
    one_test_s: float = math.nan
    """CPU seconds of a program with one test, compiled before."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=125, help="tests a program")
    parser.add_argument(
        "--programs", type=int, default=8, help="programs a way and language (Java and JavaScript: a quarter)"
    )
    usual = sorted(name for name, known in LANGUAGES.items() if not known.on_request)
    parser.add_argument("--languages", nargs="+", choices=sorted(LANGUAGES), default=usual)
    arguments = parser.parse_args()
    cores = os.cpu_count() or 1
    folder = state.open_state(state.default_state_folder())
    tests = arguments.tests
    rows = []
    with running_service(cores) as service, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        Path(scratch).chmod(0o755)
        for language in arguments.languages:
            programs = max(cores, arguments.programs // (4 if language in ("java", "javascript") else 1))
            plain = measure_plain(language, programs, tests, folder, Path(scratch))
            rows.append(Row(language, *plain, measure_service(language, programs, tests, service)))
            if language == "java":
                with running_service(cores, "--java-loop") as looping:
                    served = measure_service(language, arguments.programs, tests, looping)
                rows.append(Row("java (loop)", *plain, served))
            Console(stderr=True).print(f"{language}: measured")
    one, two = (requests_per_s(cores, services) for services in (1, 2))
    console = Console(width=140)
    console.print(cpu_table(rows, tests), other_table(rows, cores))
    console.print(
        f"C++ with one test, {cores} slots: {one:.0f} requests/s at one service, {two:.0f} at two ({two / one:.2f})"
    )


class Row(NamedTuple):
    """What was measured of one language."""

    name: str
    bare: Cost
    floor: Cost
    bwrap: Cost
    served: Cost


def cpu_table(rows: Sequence[Row], tests: int) -> Table:
    """CPU seconds a program, in every way."""
    names = ("CPU s a program", "bare", "floor", "bwrap", "service", "floor / service", "Fusion, elsewhere")
    table = Table(*names, box=box.MARKDOWN, title=f"{tests} tests a program")
    for row in rows:
        fusion = FUSION_CPU_S.get(row.name, math.nan) if tests == FUSION_TESTS else math.nan
        table.add_row(
            row.name,
            *(f"{cost.cpu_s:.3f}" for cost in row[1:]),
            f"{row.floor.cpu_s / row.served.cpu_s:.2f}",
            "-" if math.isnan(fusion) else "fails" if math.isinf(fusion) else f"{fusion:.3g}",
        )
    return table


def other_table(rows: Sequence[Row], cores: int) -> Table:
    """What else was measured."""
    table = Table(
        f"{cores} at a time", "HTTP, ms", "slots that fill it", "1 test, ms", "programs/s: floor", "bwrap", "service",
        "compile, wall s: plain", "service", box=box.MARKDOWN, title="HTTP, short programs, speed, compiling",
    )  # fmt: skip
    for row in rows:
        table.add_row(
            row.name,
            f"{1000 * row.served.http_s:.1f}",
            f"{(row.served.cpu_s - row.served.http_s) / row.served.http_s:.0f}",
            f"{1000 * row.served.one_test_s:.1f}",
            *(f"{cost.programs_per_s:.2f}" for cost in (row.floor, row.bwrap, row.served)),
            f"{row.floor.compile_s:.2f}",
            f"{row.served.compile_s:.2f}",
        )
    return table


def measure_plain(language: str, programs: int, tests: int, folder: Path, scratch: Path) -> tuple[Cost, Cost, Cost]:
    """The costs without the service: bare, floor, where the compiler is the plain one, and bwrap."""
    known = LANGUAGES[language]
    toolchain = known.toolchain(folder)
    source = scratch / language
    source.mkdir(mode=0o755)
    (source / known.source_name(known.canary)).write_text(known.canary)
    environment = {"PATH": "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(source)}
    started = time.monotonic()
    subprocess.run(known.plain_compile, cwd=source, check=True, env=environment)
    compile_s = time.monotonic() - started
    (source / "in").write_text(CANARY_INPUT)
    entry = {"java": "Canary", "javascript": "main.js"}.get(language, "main")
    inside = filled_in(toolchain.run_command, entry, 256) or ["/usr/bin/python3", "/box/main.py"]
    view = View(binds=(*toolchain.run_view.binds, (str(source), "/box")), environment=toolchain.run_view.environment)
    command = located("firejail", view, inside)  # with the host's paths
    bare = measure(run_loop, command, programs, tests, source)
    floor = measure(spawn_loop, command, programs, tests, source)._replace(compile_s=compile_s)
    jail = Jail(view, f"{state.native_tools(folder)}/enter", 65099 if os.geteuid() == 0 else 0, 0)
    return bare, floor, measure(spawn_loop, bubblewrap(jail, inside), programs, tests, source)


def measure(
    loop: Callable[[list[str], int, str], float], command: list[str], programs: int, tests: int, source: Path
) -> Cost:
    """``programs`` times ``tests`` runs of a command by ``loop``, as many loops at once as there are cores."""
    cores = os.cpu_count() or 1
    started = time.monotonic()
    with ProcessPoolExecutor(min(cores, programs)) as pool:
        cpu = sum(pool.map(loop, [command] * programs, [tests] * programs, [str(source / "in")] * programs))
    return Cost(cpu / programs, programs / (time.monotonic() - started))


def run_loop(command: list[str], tests: int, stdin: str) -> float:
    """Run a command once for each test, as Python's library does. Returns the CPU seconds of both processes."""
    before = sum(os.times()[:4])
    for _ in range(tests):
        with Path(stdin).open("rb") as given:
            done = subprocess.run(command, stdin=given, capture_output=True, env=CLEAN_ENVIRONMENT, check=True)
        if done.stdout.split() != [b"42"]:
            raise SystemExit(f"{command} printed {done.stdout[:200]!r}")
    return sum(os.times()[:4]) - before


def spawn_loop(command: list[str], tests: int, stdin: str) -> float:
    """Run a command once for each test and read what it prints. Returns the CPU seconds of both processes."""
    before = sum(os.times()[:4])
    for _ in range(tests):
        out, theirs = os.pipe()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_CLOSE, out),
        ]
        child = os.posix_spawn(command[0], command, CLEAN_ENVIRONMENT, file_actions=actions)
        os.close(theirs)
        printed = os.read(out, 1 << 16)
        os.close(out)
        _, status = os.waitpid(child, 0)
        if status or printed.split() != [b"42"]:
            raise SystemExit(f"{command} ended with status {status} and printed {printed[:200]!r}")
    return sum(os.times()[:4]) - before


def measure_service(language: str, programs: int, tests: int, running: tuple[str, psutil.Process]) -> Cost:
    """The cost of the canary over HTTP, with as many requests at once as there are cores."""
    url, service = running

    def judge(tests: int) -> float:
        fields = {
            "language": language,
            "code": LANGUAGES[language].canary,
            "tests": [{"input": CANARY_INPUT, "output": CANARY_OUTPUT}] * tests,
            "time_limit_s": 10,
        }
        answer = httpx.post(f"{url}/judge", json=fields, timeout=600).raise_for_status().json()
        if answer["verdict"] != "AC":
            raise SystemExit(f"{language}: {answer}")
        return float(answer["compile"]["wall_s"])

    compile_s = judge(tests)
    front, everything = service.cpu_times(), tree_cpu(service)
    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(judge, [tests] * programs))
    wall = time.monotonic() - started
    total = tree_cpu(service) - everything
    after = service.cpu_times()
    http_s = (after.user + after.system - front.user - front.system) / programs
    everything = tree_cpu(service)
    for _ in range(ONE_TEST_PROGRAMS):
        judge(1)
    one_test_s = (tree_cpu(service) - everything) / ONE_TEST_PROGRAMS
    return Cost(total / programs, programs / wall, compile_s, http_s, one_test_s)


def requests_per_s(slots: int, services: int) -> float:
    """How many C++ programs with one test, compiled before, so many services with ``slots`` together judge a second."""
    test = {"input": CANARY_INPUT, "output": CANARY_OUTPUT}
    body = json.dumps({"language": "cpp", "code": LANGUAGES["cpp"].canary, "tests": [test]})

    def ask(url: str, times: int) -> None:
        # http.client takes less of the machine than httpx.
        connection = HTTPConnection(url.removeprefix("http://"))
        for _ in range(times):
            connection.request("POST", "/judge", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            if answer["verdict"] != "AC":
                raise SystemExit(f"cpp: {answer}")
        connection.close()

    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(running_service(max(1, slots // services))) for _ in range(services)]
        urls = [url for url, _ in running for _ in range(2 * slots // services)]
        for url in set(urls):
            ask(url, 10)
        with ThreadPoolExecutor(len(urls)) as pool:
            started = time.monotonic()
            list(pool.map(ask, urls, [REQUESTS // len(urls)] * len(urls)))
            return REQUESTS / (time.monotonic() - started)


def tree_cpu(service: psutil.Process) -> float:
    """CPU seconds of the service's processes, of the jails that it keeps and of all that these have waited for."""
    while True:
        with contextlib.suppress(psutil.NoSuchProcess):  # one has just ended: now its parent has its time
            return float(sum(sum(process.cpu_times()[:4]) for process in (service, *service.children(recursive=True))))


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
