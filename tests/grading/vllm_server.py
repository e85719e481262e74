"""A real vLLM server on the CPU, as a child process that a test may kill and start again on its port."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx

from madrl.process import CPU_ENVIRONMENT, IN_PROCESS_EXECUTOR, WORKER_ENVIRONMENT

START_S = 1800.0
"""Only a server that hangs needs it."""

SETTINGS = {
    "--host": "127.0.0.1",
    "--dtype": "float32",
    "--max-num-seqs": "32",
    "--distributed-executor-backend": IN_PROCESS_EXECUTOR,
    # A random model would write white space for ever.
    "--structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
}


class VllmServer:
    """Serves the model in ``folder`` under ``name``; a context manager that ends it. ``options`` are added to the
    command."""

    def __init__(self, folder: Path, name: str, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.log = folder.parent / f"{name}.log"
        settings = SETTINGS | {"--model": str(folder), "--served-model-name": name, "--port": str(self.port)}
        words = [word for setting in settings.items() for word in setting]
        self._command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words, "--enforce-eager", *options
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers. Raises AssertionError with the end of its log when it ends before."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | CPU_ENVIRONMENT | WORKER_ENVIRONMENT,
                start_new_session=True,
            )
        until = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, self.log.read_text(errors="replace")[-5000:]
            assert time.monotonic() < until, "it has not started"
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", trust_env=False).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def signal(self, number: signal.Signals) -> None:
        """To it and its engine's process."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """At once, with its engine's process."""
        if self._process is not None:
            self.signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.kill()
