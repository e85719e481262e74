"""Progress of a veRL run, read from the metrics that its file logger writes."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from madrl.files import JsonLinesTail
from madrl.progress import progress


@contextlib.contextmanager
def progress_of(
    metrics: Path, total: int, done: int = 0, notices: Callable[[int], Iterable[str]] = lambda step: ()
) -> Iterator[Callable[[], None]]:
    """Yields a function that shows how far ``metrics`` has come towards the step ``total``, from ``done`` on.

    What ``notices`` says of a step is printed above the bar, each on a line of its own.
    """
    tail = JsonLinesTail(metrics)
    with progress("step", total, done) as advance:
        advance(0, "starting veRL")

        def show() -> None:
            nonlocal done
            for record in tail.new():
                for notice in notices(record["step"]):
                    advance.say(notice, style="yellow")
                advance(record["step"] - done, _headline(record["data"]))
                done = record["step"]

        yield show


def _headline(metrics: Mapping[str, float]) -> str:
    tokens, seconds = metrics.get("perf/total_num_tokens"), metrics.get("perf/time_per_step")
    parts = [
        f"{name} {value:{form}}"
        for name, value, form in (
            ("loss", metrics.get("train/loss"), ".3f"),
            ("jsd", metrics.get("mad/jsd"), ".4f"),
            ("off-support", metrics.get("mad/off_support_rate"), ".1%"),
            ("pass@1", metrics.get("mad/pass@1"), ".1%"),
            ("reward", metrics.get("mad/reward/mean"), ".3f"),
            ("kl", metrics.get("actor/kl_loss"), ".4f"),
            # veRL's perf/throughput is per GPU.
            ("tokens/s", tokens / seconds if tokens and seconds else None, ".0f"),
            ("seconds a step", metrics.get("timing_s/step"), ".1f"),
        )
        if value is not None
    ]
    return "  ".join(parts) or "first validation done"
