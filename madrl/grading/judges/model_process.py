"""The process that runs a sequence-classification model for this one: started when the first texts come, started again
when it dies, ended with this one.

One process for each ModelProcess, whose texts wait for each other. The model shares neither this process's event loop
nor its interpreter's lock.
"""

import asyncio
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.extras import require
from madrl.grading.judges.sequence_model import Options, Output, Text

STALLED_S = 1800.0
"""How long the process may take to load its model, or for one list of texts. Only a machine at a standstill, or a GPU
that hangs, needs it."""

STDERR = 2
"""The descriptor. What the libraries print belongs into the log."""

ATTEMPTS = 2
"""Processes that may die of the same texts."""


class ModelProcess:
    """The model of ``options``. Raises MadrlError when torch or transformers is not installed."""

    def __init__(self, options: Options) -> None:
        require("models")
        self._options = options
        self.labels: tuple[str, ...] | None = None
        """The model's, once it has been loaded."""
        self._start_anew()
        start_anew = weakref.WeakMethod(self._start_anew)
        os.register_at_fork(after_in_child=lambda: (method := start_anew()) and method())

    def _start_anew(self) -> None:
        """A forked child has the parent's connection, which is not its own, and finds the lock as it was."""
        if end := getattr(self, "_end", None):
            end.detach()
        if connection := getattr(self, "_connection", None):
            connection.close()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._end: Any = None

    @property
    def pid(self) -> int | None:
        """The process id; None before the first texts and after a death."""
        return None if self._process is None else self._process.pid

    async def outputs(self, texts: Sequence[Text], probabilities: bool) -> list[Output]:
        """What the model says of each text. Raises MadrlError when it says nothing."""
        future: Future[list[Output]] = Future()
        # A thread that keeps no interpreter from exiting, unlike an executor's.
        threading.Thread(
            target=self._answer, args=(list(texts), probabilities, future), name="madrl-model", daemon=True
        ).start()
        return await asyncio.wrap_future(future)

    def check_ready(self) -> None:
        """Raises MadrlError, with the reason, when the process cannot load the model. It is ended again."""
        with self._lock:
            self._load()
            self._stop()

    def close(self) -> None:
        """End the process. The next texts start another."""
        with self._lock:
            self._stop()

    def _answer(self, texts: list[Text], probabilities: bool, future: "Future[list[Output]]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with self._lock:
                found = self._ask(texts, probabilities)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(found)

    def _ask(self, texts: list[Text], probabilities: bool) -> list[Output]:
        for _ in range(ATTEMPTS):
            self._load()
            try:
                found: list[Output] | str = self._exchange((texts, probabilities))
            except EOFError:
                continue
            if isinstance(found, str):
                raise MadrlError(f"{self._options.model}: {found}")
            return found
        raise MadrlError(f"{self._options.model}: its process has died {ATTEMPTS} times of the same {len(texts)} texts")

    def _load(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        self._start()
        try:
            found: tuple[str, ...] | str = self._exchange(self._options)
        except EOFError:
            raise MadrlError(f"{self._options.model}: its process has died while it loaded the model") from None
        if isinstance(found, str):
            self._stop()
            raise MadrlError(f"{self._options.model} cannot be loaded: {found}")
        self.labels = found

    def _start(self) -> None:
        ours, theirs = Pipe()
        # A fresh interpreter with this one's paths: no copy of the parent's state, nor of its __main__.
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "madrl.grading.judges.sequence_model", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=STDERR,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": paths},
            )
        self._connection = ours
        self._end = weakref.finalize(self, _end, self._process, ours)

    def _exchange(self, message: Any) -> Any:
        """The process's answer. Raises EOFError when it has died, and MadrlError when it gives none for STALLED_S; it
        is of no use any more."""
        assert self._connection is not None
        try:
            self._connection.send(message)
            if self._connection.poll(STALLED_S):
                return self._connection.recv()
        except (EOFError, ConnectionError):
            self._stop()
            raise EOFError from None
        self._stop()
        raise MadrlError(f"{self._options.model}: its process has given no answer for {STALLED_S:g} s")

    def _stop(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._connection = self._end = None


def _end(process: "subprocess.Popen[bytes]", connection: Connection) -> None:
    """It has nothing to lose."""
    process.kill()
    process.wait()
    connection.close()
