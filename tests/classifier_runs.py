"""Every built-in classifier from its configuration alone, in a real training run of two steps on two CPU cores.

    python tests/classifier_runs.py [NAME ...]

The model is a random one that says nothing: what is tried is the way from the arguments to the dumps and the metrics,
not what the classifiers make of a text. Prints a table with the categories of each run, how long a grade took in it,
and how many of the golden cases the classifier takes in a second: of a core, or of the clock where others work for it.

    python tests/classifier_runs.py outage

The classifier ``llm`` asks a vLLM server that is killed in the middle of a step and is away for 20 s: the run goes on,
and nothing is ungraded. Then the server is killed for good: the run stops and says why, and when the server is there
again, the same command goes on from the last checkpoint to the end.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS.parent), str(TESTS / "grading"), str(TESTS / "trainer")]

from classification_models import make_decoder, make_encoder  # noqa: E402
from real_runs import GROUP, PROMPTS, Trainings  # noqa: E402
from test_served_models import CATEGORIES, make_judge  # noqa: E402
from vllm_server import VllmServer  # noqa: E402

from madrl.grading.bench import load_labelled, measure_classifier  # noqa: E402
from madrl.records import read  # noqa: E402
from madrl.run_folder import RunFolder  # noqa: E402

GOLDEN = TESTS / "golden"
CASES = {"programming_language": "program_cases.jsonl"}
"""Classifier -> the golden cases that it is timed on, where they are not those of prose."""

LABELS = ("calm", "cross", "odd")
MANAGER = "madrl.trainer.group_loop.GroupAgentLoopManager"
AWAY_S = 20.0


class Wanted(NamedTuple):
    """A classifier's part of a run's config."""

    classifier: str
    categories: tuple[str, ...]
    arguments: str = "{}"


@contextmanager
def wanted(name: str, folder: Path) -> Iterator[Wanted]:
    """What the run ``name`` is configured with; servers that it needs run during the block."""
    labels = "{calm: calm, cross: cross}"
    with ExitStack() as stack:
        if name == "regex":
            yield Wanted("regex", ("a", "b", "c"), '{match: first, patterns: {a: "[aei]", b: "[lnr]", c: "[ost]"}}')
        elif name == "field":
            yield Wanted("field", ("the", "a"), '{marker: "e", aliases: {an: a}}')
        elif name == "length":
            yield Wanted(
                "length", ("short", "medium", "long"), "{unit: words, buckets: {short: 2, medium: 5, long: null}}"
            )
        elif name == "language":
            yield Wanted("language", ("de", "en", "it", "pt"))
        elif name == "programming_language":
            yield Wanted("programming_language", ("python", "javascript"))
        elif name == "text_classification":
            make_encoder(folder / "encoder", LABELS)
            yield Wanted(name, ("calm", "cross"), f"{{model: {folder / 'encoder'}, labels: {labels}}}")
        elif name == "text_classification, served":
            make_decoder(folder / "decoder", LABELS)
            server = stack.enter_context(VllmServer(folder / "decoder", "sorter", "--runner", "pooling"))
            yield Wanted(
                "text_classification", ("calm", "cross"), f'{{model: sorter, url: "{server.url}", labels: {labels}}}'
            )
        elif name == "llm":
            make_judge(folder / "judge")
            server = stack.enter_context(VllmServer(folder / "judge", "judge", "--max-model-len", "2048"))
            yield of_judge(server)
        else:
            raise SystemExit(f"{name!r} is none of {NAMES}")


NAMES = (
    "regex", "field", "length", "language", "programming_language", "text_classification",
    "text_classification, served", "llm",
)  # fmt: skip


def of_judge(server: VllmServer, concurrency: int = 32, deadline_s: float = 600.0) -> Wanted:
    """The classifier ``llm``, whose random model is asked nothing but the response."""
    described = ", ".join(f"{name}: it says {name}" for name in CATEGORIES)
    arguments = f'{{base_url: "{server.url}/v1", model: judge, prompt: "{{response}}", descriptions: {{{described}}}, '
    return Wanted("llm", CATEGORIES, f"{arguments}concurrency: {concurrency}, deadline_s: {deadline_s}}}")


def changes(config: Wanted, *more: str) -> list[str]:
    """What the run has in place of the tests' own plug-ins."""
    return [
        f"madrl.classifier={config.classifier}",
        "madrl.categories=[{}]".format(",".join(f'"{name}"' for name in config.categories)),
        f"madrl.classifier_args={config.arguments}",
        "madrl.target=uniform",
        "madrl.launch_check=warn",
        f"actor_rollout_ref.rollout.agent.agent_loop_manager_class={MANAGER}",
        "trainer.total_training_steps=2",
        *more,
    ]


def two_steps(name: str, trainings: Trainings) -> list[str]:
    """One row of the table."""
    folder = trainings.folder / f"of {name}"
    folder.mkdir()
    with wanted(name, folder) as config:
        run = trainings.run(name.replace(", ", "_"), *changes(config))
        labelled = load_labelled(GOLDEN / CASES.get(name, "language_cases.jsonl"))
        arguments = run.settings().classifier_args
        timed = measure_classifier(config.classifier, labelled, arguments, config.categories)
    records = [record for step in (1, 2) for record in read(run.scores / f"{step}.jsonl", ("category",))]
    assert len(records) == 2 * PROMPTS * GROUP
    assert run.history()[2]["mad/ungraded_rate"] == 0.0
    found = Counter(record["category"] or "off-support" for record in records)
    categories = ", ".join(f"{category} {count}" for category, count in found.most_common())
    seconds = [run.history()[step]["mad/timing/grade_s"] for step in (1, 2)]
    shown = f"`{config.arguments.replace(str(folder), 'MODELS')}`"
    return [name, shown, categories, f"{1000 * max(seconds):.0f}", f"{timed.responses_per_s:,.0f}"]


def outage(trainings: Trainings) -> None:
    """The second command."""
    make_judge(trainings.folder / "judge")
    with VllmServer(trainings.folder / "judge", "judge", "--max-model-len", "2048") as server:
        config = changes(of_judge(server, 1), "trainer.total_training_steps=4", "trainer.save_freq=1")
        run = RunFolder(trainings.folder / "away")
        process = trainings.start("away", *config)
        wait_until(lambda: (run.scores / "1.jsonl").exists(), process)
        server.kill()
        time.sleep(AWAY_S)
        server.start()
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        steps = {step: values for step, values in run.history().items() if step}
        ungraded = [values["mad/ungraded_rate"] for values in steps.values()]
        seconds = [f"{values['timing_s/step']:.0f}" for values in steps.values()]
        print(f"away for {AWAY_S:.0f} s: {len(steps)} steps, ungraded {ungraded}, seconds a step {seconds}")
        assert ungraded == [0.0] * 4

        run = RunFolder(trainings.folder / "gone")
        config = changes(of_judge(server, 1, 10.0), "trainer.total_training_steps=3", "trainer.save_freq=1")
        process = trainings.start("gone", *config)
        wait_until(lambda: run.checkpoint_step() == 1, process)
        server.kill()
        _, errors = process.communicate()
        assert process.returncode != 0
        print(f"gone: the run ends with status {process.returncode} after step {max(run.history())} and says")
        print("    " + errors.strip().splitlines()[-1][:500])
        server.start()
        run = trainings.run("gone", *config)
        print(f"there again: the same command goes on and ends after step {max(run.history())}")
        assert max(run.history()) == 3


def wait_until(there: Any, process: Any) -> None:
    """Wait for what a run in the background comes to."""
    while not there():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.2)


def main() -> None:
    names = sys.argv[1:] or list(NAMES)
    os.environ.pop("MADRL_SANDBOX_URLS", None)
    with tempfile.TemporaryDirectory() as folder:
        trainings = Trainings(Path(folder))
        if names == ["outage"]:
            outage(trainings)
            return
        print("| classifier | arguments | categories of 32 responses | ms a grade | responses/s |")
        print("|---|---|---|--:|--:|")
        for name in names:
            print(f"| {' | '.join(two_steps(name, trainings))} |", flush=True)


if __name__ == "__main__":
    main()
