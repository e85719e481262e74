"""What the bench counts as the cost of judging."""

import subprocess
import sys

import psutil

from sandbox.bench import tree_cpu

SPINS = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"


def started_by(program: str) -> str:
    """A program that starts the ``program`` and waits for it."""
    return f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {program!r}])"


def test_a_jail_that_is_kept_is_counted_before_anybody_has_waited_for_it() -> None:
    """It is a worker's child, and the worker the service's."""
    command = [sys.executable, "-c", started_by(started_by(SPINS))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        assert service.stdin
        assert service.stdout
        service.stdout.readline()
        found = tree_cpu(psutil.Process(service.pid))
        service.stdin.write(b"\n")
    assert found >= 0.3
