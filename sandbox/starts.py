"""``python -m sandbox.starts``: what a start of Java's or Node's virtual machine costs, and ways to pay less.

Nearly all that a short program in these languages costs is its virtual machine's start, once a test. Each way below
runs the same tiny program on the same input, without a jail, and is measured in CPU time a test, whoever spends it. A
resident way has one process for all tests, whose start is in the figure; a test is then a message to it. The ways take
turns, so that whatever else the machine does meets all of them, and the figure is the median of the rounds.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from sandbox import state
from sandbox.backends import located
from sandbox.bench import spawn_loop
from sandbox.languages import CANARY_INPUT, CANARY_OUTPUT, LANGUAGES, filled_in, java, javascript, with_java_loop

MEMORY_MB = 256

FRESH_CONTEXT = """
const fs = require('fs'), vm = require('vm')
const script = new vm.Script(fs.readFileSync('main.js', 'utf8'))
const number = Buffer.alloc(8)
while (fs.readSync(3, number) === number.length) {
  script.runInContext(vm.createContext({require, process, console, Buffer}))
  fs.writeSync(4, number)
}
"""
"""Node's driver: each test in a context of its own, which has fresh built-ins of the language and shares Node's."""

FRESH_WORKER = """
const fs = require('fs'), {once} = require('events'), {Worker} = require('worker_threads')
const number = Buffer.alloc(8)
async function main() {
  while (fs.readSync(3, number) === number.length) {
    await once(new Worker('./main.js'), 'exit')
    fs.writeSync(4, number)
  }
}
main()
"""
"""Node's driver: each test in a worker thread of its own, which shares the process."""

SNAPSHOT = """
const fs = require('fs'), vm = require('vm')
require('v8').startupSnapshot.setDeserializeMainFunction(() => {
  globalThis.require = require
  vm.runInThisContext(fs.readFileSync('main.js', 'utf8'))
})
"""
"""What a start-up snapshot of Node is made of: a process that has loaded what programs use, and waits for one."""


class Way(NamedTuple):
    """One way to run the program."""

    name: str
    command: list[str]
    resident: bool = False
    """Whether one process takes all tests, told by numbers on descriptor 3, which it gives back on 4."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=125, help="tests a way and round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    tests = arguments.tests
    folder = state.open_state(state.default_state_folder())
    table = Table("way", "CPU ms a test", box=box.MARKDOWN, title=f"{tests} tests of a tiny program, no jail")
    with tempfile.TemporaryDirectory(prefix="starts-") as scratch:
        (Path(scratch) / "in").write_text(CANARY_INPUT)
        os.chdir(scratch)
        ways = [*java_ways(folder, Path(scratch)), *javascript_ways(folder, Path(scratch))]
        spent: dict[str, list[float]] = {way.name: [] for way in ways}
        for number in range(arguments.rounds):
            for way in ways:
                spend = resident_loop if way.resident else spawn_loop
                spent[way.name].append(spend(way.command, tests, "in"))
            Console(stderr=True).print(f"round {number + 1} of {arguments.rounds} is over")
        for name, seconds in spent.items():
            table.add_row(name, f"{1000 * statistics.median(seconds) / tests:.1f}")
    Console(width=140).print(table)


def java_ways(folder: Path, scratch: Path) -> Iterator[Way]:
    """Java's ways, each with what it needs in ``scratch``."""
    row = LANGUAGES["java"]
    toolchain = java(folder)
    (scratch / row.source_name(row.canary)).write_text(row.canary)
    subprocess.run(row.plain_compile, cwd=scratch, check=True)
    binary = toolchain.compile_command[0]
    heap = (f"-Xmx{MEMORY_MB}m", "-Xss64m")
    lean = (binary, "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:NewRatio=5", *heap)
    yield Way("Java, plain (the G1 collector)", [binary, *heap, "-cp", ".", "Canary"])
    yield Way("Java, serial collector (the service)", [*lean, "-cp", ".", "Canary"])
    quick = "-XX:TieredStopAtLevel=1"
    yield Way("the same, first compiler alone (`TieredStopAtLevel=1`)", [*lean, quick, "-cp", ".", "Canary"])
    subprocess.run([Path(binary).with_name("jar"), "cf", "canary.jar", "Canary.class"], cwd=scratch, check=True)
    for name, how in (("the same", ()), ("the same, first compiler alone", (quick,))):
        archive = f"{len(how)}.jsa"
        command = [*lean, *how, f"-XX:ArchiveClassesAtExit={archive}", "-cp", "canary.jar", "Canary"]
        with (scratch / "in").open() as given:
            subprocess.run(command, stdin=given, cwd=scratch, check=True, capture_output=True)
        yield Way(
            f"{name}, from an archive of the program's classes (AppCDS)",
            [*lean, *how, f"-XX:SharedArchiveFile={archive}", "-cp", "canary.jar", "Canary"],
        )
    looping = with_java_loop(folder, toolchain)
    loop = filled_in(looping.loop_command, "Canary", MEMORY_MB) or []
    [classes] = [source for source, inside in looping.run_view.binds if inside == "/sandbox/loop"]
    inside = {"/sandbox/loop": classes, "/box": str(scratch)}
    yield Way("Java, one JVM, a class loader a test (`--java-loop`)", [inside.get(p, p) for p in loop], True)


def javascript_ways(folder: Path, scratch: Path) -> Iterator[Way]:
    """Node's ways, each with what it needs in ``scratch``."""
    row = LANGUAGES["javascript"]
    toolchain = javascript(folder)
    inside = filled_in(toolchain.run_command, "main.js", MEMORY_MB) or []
    node, *options, _ = located("firejail", toolchain.run_view, inside)  # with the host's paths
    (scratch / "main.js").write_text(row.canary)
    yield Way("Node, plain", [node, "main.js"])
    yield Way("Node, with a larger stack (the service)", [node, *options, "main.js"])
    (scratch / "snapshot.js").write_text(SNAPSHOT)
    snapshot = ["--snapshot-blob", "snapshot.blob"]
    subprocess.run([node, *snapshot, "--build-snapshot", "snapshot.js"], cwd=scratch, check=True, capture_output=True)
    yield Way("Node, from a start-up snapshot (`--snapshot-blob`)", [node, *snapshot, "main.js"])
    for name, driver in (("worker thread", FRESH_WORKER), ("`vm` context", FRESH_CONTEXT)):
        (scratch / f"{len(driver)}.js").write_text(driver)
        yield Way(f"Node, one process, a fresh {name} a test", [node, f"{len(driver)}.js"], resident=True)


def resident_loop(command: list[str], tests: int, stdin: str) -> float:
    """Start a command and give it each test. Returns the CPU seconds of both processes."""
    before = sum(os.times()[:4])
    go, done = os.pipe(), os.pipe()
    given = os.open(stdin, os.O_RDONLY)
    moved = [(os.POSIX_SPAWN_DUP2, number, number + 60) for number in (go[0], done[1])]
    kept = [(os.POSIX_SPAWN_DUP2, go[0] + 60, 3), (os.POSIX_SPAWN_DUP2, done[1] + 60, 4)]
    with tempfile.TemporaryFile() as printed:
        streams = [(os.POSIX_SPAWN_DUP2, given, 0), (os.POSIX_SPAWN_DUP2, printed.fileno(), 1)]
        child = os.posix_spawn(command[0], command, dict(os.environ), file_actions=[*moved, *streams, *kept])
        os.close(go[0])
        os.close(done[1])
        for number in range(1, tests + 1):
            os.lseek(given, 0, os.SEEK_SET)  # which the child's descriptor shares
            token = number.to_bytes(8, "big")
            os.write(go[1], token)
            if os.read(done[0], 8) != token:
                raise SystemExit(f"{command} ended at test {number}, or took it for unusual")
        os.close(go[1])
        os.waitpid(child, 0)
        printed.seek(0)
        lines = printed.read().decode().split()
    os.close(done[0])
    os.close(given)
    if lines != [CANARY_OUTPUT] * tests:
        raise SystemExit(f"{command} printed {lines[:10]}")
    return sum(os.times()[:4]) - before


if __name__ == "__main__":
    main()
