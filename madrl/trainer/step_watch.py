"""What would let a step wait for ever, or end with groups of nothing: a dead agent-loop worker or engine server and no
progress at all, found while it waits, and an engine that is dead when it is to take new weights.

veRL polls until enough groups have come back, and nobody asks after the workers that generate them, nor after the
servers that these ask: Ray tells of an actor's death those who wait for an answer of it, and the sessions of a batch
answer nobody.
"""

import re
import time
from collections.abc import Callable, Hashable

from madrl.errors import MadrlError

WORKER_PREFIX = "agent_loop_worker_"
"""How the names begin that veRL gives to its agent-loop workers."""

ENGINE_SERVER = re.compile(r"vllm_server_\d+_\d+")
"""What veRL calls the actors before its rollout engines."""

LOOK_EVERY_S = 2.0
ANSWER_S = 30.0
"""How long the server of an engine may take to say whether that is alive, before it is believed to be."""


def living_generators() -> set[str]:
    """The names of this run's agent-loop workers and engine servers that are alive, as the Ray cluster knows it."""
    import ray.util

    names = ray.util.list_named_actors()
    return {name for name in names if name.startswith(WORKER_PREFIX) or ENGINE_SERVER.match(name)}


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
        living: names what generates responses and is alive. What the first look finds is expected in all later ones.
        clock: the time in seconds.
    """

    def __init__(
        self,
        max_idle_s: float,
        living: Callable[[], set[str]] = living_generators,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_idle_s = max_idle_s
        self._living = living
        self._clock = clock
        self._generators: set[str] = set()
        self._progress: Hashable = None
        self._progress_at = clock()
        self._next_look = clock()

    def begin(self) -> None:
        """A step begins to wait for its responses."""
        self._progress, self._progress_at = None, self._clock()

    def look(self, where: str, progress: Hashable) -> None:
        """Look at the step that is called ``where`` and has come as far as ``progress`` says, whatever that is.

        Raises MadrlError when ``progress`` has been the same for ``max_idle_s``, and what ``check_living`` raises.
        """
        now = self._clock()
        if progress != self._progress:
            self._progress, self._progress_at = progress, now
        elif now - self._progress_at >= self.max_idle_s:
            raise MadrlError(
                f"{where}: no response has come back for {self.max_idle_s:g} s (madrl.max_idle_s): look for the cause "
                "at the end of the log, in the engine and in what grades the responses; then start the run again: it "
                "resumes"
            )
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY_S
        self.check_living(where)

    def check_living(self, where: str) -> None:
        """Raises MadrlError when an agent-loop worker or an engine's server has died since the first look."""
        living = self._living()
        dead = sorted(self._generators - living)
        if dead:
            raise MadrlError(
                f"{where}: {len(dead)} of {len(self._generators)} agent-loop workers and vLLM servers died "
                f"({', '.join(dead)}), and the responses that they were generating will never come: the log says why, "
                "often too little memory; then start the run again: it resumes"
            )
        self._generators |= living
