"""native/guard.c: nothing of a sandbox outlives the process that was to end it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from sandbox_service import SETTLE_S

from sandbox.backends import BACKENDS, Jail, View
from sandbox.state import native_tools

pytestmark = pytest.mark.sandbox

STARTER = "import subprocess, sys; subprocess.run(sys.argv[1:], start_new_session=True)"


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"{native_tools(tmp_path_factory.mktemp('state'))}/guard"


def _children(pid: int) -> list[int]:
    """Without psutil, which takes longer than bubblewrap's child waits."""
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _is_gone(pid: int) -> bool:
    """Whether it has ended. Its parent's parent, which inherits it, need not have reaped it."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _wait_for(event: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SETTLE_S
    while True:
        is_last = time.monotonic() > deadline  # before the look
        if event():
            return
        assert not is_last, what
        time.sleep(0.01)


def test_a_bubblewrap_that_is_killed_as_it_starts_leaves_nothing_that_waits_for_it(guard: str) -> None:
    # Its child waits for a word from it, without having asked yet to die with it: one time in four, without the guard.
    jail = Jail(View(), f"{Path(guard).parent}/enter", uid=0, nice=0)
    argv = [guard, *BACKENDS["bubblewrap"](jail, ["/usr/bin/true"])]
    met = 0
    for _ in range(40):
        with subprocess.Popen(argv, start_new_session=True, stderr=subprocess.DEVNULL) as started:
            outer: list[int] = []
            inner: list[int] = []
            while started.poll() is None and not inner:
                outer = outer or _children(started.pid)
                inner = _children(outer[0]) if outer else []
            for pid in outer:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        met += bool(inner)
        for pid in inner:
            _wait_for(lambda pid=pid: _is_gone(pid), f"{pid} is left")  # type: ignore[misc]
    assert met, "bubblewrap was never seen with a child"


@pytest.mark.parametrize("who", ["starter", "guard"])
def test_a_command_and_its_children_end_when_the_starter_is_killed_or_the_guard_is_asked(guard: str, who: str) -> None:
    script = "sleep 1000 & sleep 1000 & wait"
    with subprocess.Popen([sys.executable, "-c", STARTER, guard, "/bin/sh", "-c", script]) as starter:
        everyone: list[psutil.Process] = []

        def all_run() -> bool:
            everyone[:] = psutil.Process(starter.pid).children(recursive=True)
            return len(everyone) == 4  # guard, shell and twice sleep

        _wait_for(all_run, "the command did not start")
        first = psutil.Process(starter.pid) if who == "starter" else everyone[0]
        first.send_signal(signal.SIGKILL if who == "starter" else signal.SIGTERM)
        for process in everyone:
            _wait_for(lambda pid=process.pid: _is_gone(pid), f"{process} is left")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("command", "status"),
    [(["/bin/sh", "-c", "exit 7"], 7), (["/bin/sh", "-c", "kill -9 $$"], 137), (["/not/there"], 125)],
)
def test_the_exit_status_is_the_commands(guard: str, command: list[str], status: int) -> None:
    assert subprocess.run([guard, *command], stderr=subprocess.DEVNULL).returncode == status


def test_signals_that_the_starter_ignores_are_awaited_all_the_same(guard: str) -> None:
    ignore = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    assert subprocess.run([sys.executable, "-c", ignore, guard, "/bin/true"], timeout=10 * SETTLE_S).returncode == 0
