"""What would let a step wait for ever, or end with groups of nothing: a dead agent-loop worker, engine server or queue,
no progress at all, and an engine that is dead when it is to take new weights.

veRL polls until enough groups have come back, and nobody asks after the workers that generate them, nor after the
servers that these ask: Ray tells of an actor's death those who wait for an answer of it, and the sessions of a batch
answer nobody. Responses and their rewards go through TransferQueue, whose clients wait for its controller for ever.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable

from madrl.errors import MadrlError
from madrl.failures import OVERSEER_ENDS

WORKER_PREFIX = "agent_loop_worker_"
"""How the names begin that veRL gives to its agent-loop workers."""

ENGINE_SERVER = re.compile(r"vllm_server_\d+_\d+")
"""What veRL calls the actors before its rollout engines."""

QUEUE = {"namespace": "transfer_queue", "name": "TransferQueueController"}
"""What TransferQueue calls the actor that all its clients ask."""

LOOK_EVERY_S = 2.0
DEAD_FOR_S = 60.0
"""How long a process must have been dead for the overseer to end the run. In that time the watch itself finds it at its
next look, and a run that is ending has closed its loggers."""
ANSWER_S = 30.0
"""How long the server of an engine may take to say whether that is alive, before it is believed to be."""


def living_processes() -> set[str]:
    """The names of this run's agent-loop workers, engine servers and queue that are alive, as the Ray cluster knows it.

    Those are the processes without which responses never come, and which no call of veRL's would miss.
    """
    import ray.util

    names = {
        name for name in ray.util.list_named_actors() if name.startswith(WORKER_PREFIX) or ENGINE_SERVER.match(name)
    }
    return names | ({QUEUE["name"]} if QUEUE in ray.util.list_named_actors(all_namespaces=True) else set())


def dead_engines() -> list[str]:
    """The servers of this run whose vLLM engine is dead, as the Ray cluster and they themselves know it.

    A server that says nothing of it in time, or cannot be asked, is not among them.
    """
    import httpx
    import ray

    dead = []
    with httpx.Client(timeout=ANSWER_S, trust_env=False) as client:
        for name in sorted(filter(ENGINE_SERVER.match, ray.util.list_named_actors())):
            try:
                server = ray.get_actor(name)
                host, port = ray.get(server.get_server_address.remote(), timeout=ANSWER_S)
            except (ray.exceptions.RayError, ValueError):  # it has no port, as on all but the first node of an engine
                continue
            try:
                answer = client.get(f"http://{f'[{host}]' if ':' in host else host}:{port}/health")
            except httpx.ConnectError:  # it ends with its engine
                dead.append(name)
            except httpx.HTTPError:
                continue
            else:
                if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                    dead.append(name)
    return dead


def check_engines(where: str) -> None:
    """Raises MadrlError when an engine has died (``dead_engines``): veRL would wait for ever for it to take weights."""
    if dead := dead_engines():
        raise MadrlError(
            f"{where}: the vLLM engine of {', '.join(dead)} died: the log says why, often too little memory; then "
            "start the run again: it resumes"
        )


class StepWatch:
    """Watches one step after another.

    Args:
        max_idle_s: seconds that a step may take without progress.
        living: names the processes that are alive. Those of the first look are expected in all later ones.
        clock: the time in seconds.
    """

    def __init__(
        self,
        max_idle_s: float,
        living: Callable[[], set[str]] = living_processes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_idle_s = max_idle_s
        self._living = living
        self._clock = clock
        self._expected: set[str] = set()
        self._where = ""
        self._overseen = False
        self._progress: Hashable = None
        self._progress_at = clock()
        self._next_look = clock()

    def begin(self, where: str) -> None:
        """The step that is called ``where`` begins to wait for its responses.

        From the first step on the processes are overseen (``oversee``), if this is veRL's task runner.
        """
        self._where = where
        self._progress, self._progress_at = None, self._clock()
        if not self._overseen and in_actor():
            self._overseen = True
            oversee(self._check)

    def _check(self) -> None:
        self.check_living()
        check_engines(self._where)

    def look(self, progress: Hashable) -> None:
        """Look at the step, which has come as far as ``progress`` says, whatever that is.

        Raises MadrlError when ``progress`` has been the same for ``max_idle_s``, and what ``check_living`` raises.
        """
        now = self._clock()
        if progress != self._progress:
            self._progress, self._progress_at = progress, now
        elif now - self._progress_at >= self.max_idle_s:
            raise MadrlError(
                f"{self._where}: no response has come back for {self.max_idle_s:g} s (madrl.max_idle_s): look for the "
                "cause at the end of the log, in the engine and in what grades the responses; then start the run "
                "again: it resumes"
            )
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY_S
        self.check_living()

    def check_living(self) -> None:
        """Raises MadrlError when a process has died since the first look."""
        living = self._living()
        if dead := sorted(self._expected - living):
            raise MadrlError(
                f"{self._where}: {', '.join(dead)} died, and the responses that it had will never come: the log says "
                "why, often too little memory; then start the run again: it resumes"
            )
        self._expected |= living


def in_actor() -> bool:
    """Whether this process is a Ray actor, as veRL's task runner is."""
    import ray

    return ray.is_initialized() and ray.get_runtime_context().get_actor_id() is not None


def oversee(check: Callable[[], None]) -> None:
    """Call ``check`` from now on, and end this process when it has raised MadrlError for DEAD_FOR_S.

    The watch looks between two polls, and neither a poll nor an update ends by itself when the queue's controller is
    dead, nor the sending of weights when an engine is. An exception would not end them either: Ray's ``get`` swallows
    those of signal handlers. So the process ends, with a line that is known as the cause (``madrl.failures``); Ray
    tells veRL's main and ends the others.
    """

    def watch() -> None:
        since: float | None = None
        while True:
            time.sleep(LOOK_EVERY_S)
            try:
                check()
            except MadrlError as error:
                since = time.monotonic() if since is None else since
                if time.monotonic() - since >= DEAD_FOR_S:
                    print(f"{OVERSEER_ENDS}: {error}", file=sys.stderr, flush=True)
                    os._exit(1)
            except Exception:  # Ray cannot say; whoever waits for Ray is told
                since = None
            else:
                since = None

    threading.Thread(target=watch, name="overseer", daemon=True).start()
