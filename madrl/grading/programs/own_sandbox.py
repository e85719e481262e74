"""A sandbox service of our own: what it needs installed on this machine, and its process, which ends with ours."""

import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from madrl.errors import MadrlError
from madrl.grading.programs.program import TOKEN_FILE_VARIABLE
from madrl.process import end_with_parent

START_S = 900.0
"""How long a sandbox may take to prove its toolchains on a busy machine."""

DRAIN_S = 5
"""How long it goes on with what is being judged once it is told to end: when a run ends nobody waits for that."""


SLOTS_PER_SERVICE = 24
"""The most slots of one service: its front process is one process, which programs of short tests in 28 slots would keep
busy without a pause (docs/sandbox.md, Many cores)."""


class OwnSandbox(NamedTuple):
    """A service that was started, and where it will answer."""

    process: "subprocess.Popen[bytes]"
    url: str


def shares_of(slots: int) -> list[int]:
    """The slots of each of the services that have ``slots`` together: as few as can be, and as equal."""
    services = -(-slots // SLOTS_PER_SERVICE)
    return [slots // services + (service < slots % services) for service in range(services)]


def install_languages(log: Path) -> None:
    """Install the toolchains that the sandbox's own script installs, with its output in ``log``; quick when they are
    there. Raises MadrlError when that fails."""
    (sandbox,) = map(Path, importlib.import_module("sandbox").__path__)
    with log.open("wb") as output:
        done = subprocess.run(["bash", str(sandbox / "install.sh")], stdout=output, stderr=output, check=False)
    if done.returncode:
        raise MadrlError(f"sandbox/install.sh ended with exit code {done.returncode}: see {log}")


def start_sandbox(host: str, log: Path, slots: int | None) -> OwnSandbox:
    """Start a service at a free port of the address ``host``, with its output appended to ``log`` and the token that
    MADRL_SANDBOX_TOKEN_FILE names, if it does; ``slots`` programs at a time, or as many as the service itself takes.

    All tests of a Java program go to one JVM. No level of protection is insisted on: the service takes the best one
    that the machine allows, and what a lower one loses is said by ``check_sandbox``, which every stage calls that
    judges programs.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as free:
        free.bind((host, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sandbox", "--host", host, "--port", str(port), "--drain-s", str(DRAIN_S)]
    command.append("--java-loop")
    if slots is not None:
        command += ["--slots", str(slots)]
    if token_file := os.environ.get(TOKEN_FILE_VARIABLE):
        command += ["--token-file", token_file]
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, close_fds=False, preexec_fn=end_with_parent())
    return OwnSandbox(process, f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
