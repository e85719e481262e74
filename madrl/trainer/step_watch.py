"""What would let a step wait for ever, found while it waits: a dead agent-loop worker, and no progress at all.

veRL polls until enough groups have come back, and nobody asks after the workers that generate them:
Ray tells of an actor's death those who wait for an answer of it, and the sessions of a batch answer nobody.
"""

import time
from collections.abc import Callable, Hashable

from madrl.errors import MadrlError

WORKER_PREFIX = "agent_loop_worker_"
"""How the names begin that veRL gives to its agent-loop workers."""

LOOK_EVERY_S = 2.0


def living_workers() -> set[str]:
    """The names of this run's agent-loop workers that are alive, as the Ray cluster knows it."""
    import ray.util

    return {name for name in ray.util.list_named_actors() if name.startswith(WORKER_PREFIX)}


class StepWatch:
    """Watches one step after another.

    Args:
        max_idle_s: seconds that a step may take without progress.
        living: names the workers that are alive. Those of the first look are expected in all later ones.
        clock: the time in seconds.
    """

    def __init__(
        self,
        max_idle_s: float,
        living: Callable[[], set[str]] = living_workers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_idle_s = max_idle_s
        self._living = living
        self._clock = clock
        self._workers: set[str] = set()
        self._progress: Hashable = None
        self._progress_at = clock()
        self._next_look = clock()

    def begin(self) -> None:
        """A step begins to wait for its responses."""
        self._progress, self._progress_at = None, self._clock()

    def look(self, where: str, progress: Hashable) -> None:
        """Look at the step that is called ``where`` and has come as far as ``progress`` says, whatever that is.

        Raises MadrlError when a worker has died since the first look, and when ``progress`` has been the same for
        ``max_idle_s``.
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
        living = self._living()
        dead = sorted(self._workers - living)
        if dead:
            raise MadrlError(
                f"{where}: {len(dead)} of {len(self._workers)} agent-loop workers died ({', '.join(dead)}), and the "
                "responses that they were generating will never come: the log says why, often too little memory; then "
                "start the run again: it resumes"
            )
        self._workers |= living
