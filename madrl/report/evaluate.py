"""Everything that `madrl evaluate` leaves: in a run's folder metrics.json, evaluation.png, training.png and
summary.json; beside a file of responses FILE.metrics.json and FILE.evaluation.png; or the same in another folder."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.evaluation.dumps import Run, evaluate_file, evaluate_run
from madrl.files import making, read_jsonl, replacing_all
from madrl.records import STANDARD, source_of, stem_of, writable
from madrl.report.drawing import draw
from madrl.report.evaluation_tables import evaluation_tables, first_and_last, tables_of_attribute, title
from madrl.report.run_plots import attribute_panels, evaluation_panels, training_panels
from madrl.report.table import Table
from madrl.reward import RewardConfig
from madrl.run_folder import RunFolder


class Report(NamedTuple):
    """What was found and where it was written."""

    evaluation: dict[str, Any]
    files: list[Path]

    @property
    def title(self) -> str:
        return title(self.evaluation)

    @property
    def tables(self) -> list[Table]:
        """The first and the last evaluation of each split; all are in metrics.json."""
        found = self.evaluation
        tables = evaluation_tables(first_and_last(found["evaluations"]), found["epsilon"], found.get("hinted", 0))
        for name, of in found.get("attributes", {}).items():
            tables += tables_of_attribute(name, first_and_last(of["evaluations"]), found["epsilon"])
        return tables


def report_run(root: str, output: Path | None = None) -> Report:
    """Evaluate the run and write its files into ``output``, by default its own folder: all of them or none.

    Raises MadrlError when ``root`` holds no run, or one without dumps, and where a file cannot be written."""
    out = RunFolder(output or root)
    evaluation = evaluate_run(root)
    run = Run.load(root)
    history = run.folder.history()
    files: dict[Path, Callable[[Path], None]] = {
        out.evaluation: partial(_write_json, evaluation),
        out.evaluation_figure: partial(_draw_evaluation, evaluation),
    }
    if any("mad/jsd" in metrics for metrics in history.values()):
        panels = training_panels(run, history)
        for name in run.settings.attributes:
            panels += attribute_panels(run, history, name)
        files[out.figure] = lambda path: draw(panels, 2, {"png": path}, title(evaluation))
    summary = summarize(run.folder, evaluation)
    if summary is not None:
        files[out.summary] = partial(_write_json, summary)
    return Report(evaluation, _written(files))


def report_file(
    path: str,
    categories: Sequence[str],
    target: NDArray[np.float64],
    output: Path | None = None,
    epsilon: float = RewardConfig.epsilon,
) -> Report:
    """Evaluate a file of responses (``dumps.evaluate_file``) and write FILE.metrics.json and FILE.evaluation.png,
    without FILE's own ending (``records.stem_of``), into ``output``, by default beside it: both or none.

    ``-`` is standard input, whose files are called stdin. Raises MadrlError for a bad line, where a file cannot be
    written, and for standard input without ``output``; OSError for a file that cannot be read."""
    if path == STANDARD and output is None:
        raise MadrlError("responses from standard input (-) have no place of their own: name a folder with -o")
    evaluation = evaluate_file(source_of(path), categories, target, epsilon)
    folder, stem = output or Path(path).parent, "stdin" if path == STANDARD else stem_of(Path(path))
    files: dict[Path, Callable[[Path], None]] = {
        folder / f"{stem}.metrics.json": partial(_write_json, evaluation),
        folder / f"{stem}.evaluation.png": partial(_draw_evaluation, evaluation),
    }
    return Report(evaluation, _written(files))


def _written(files: Mapping[Path, Callable[[Path], None]]) -> list[Path]:
    """Write all files or, when one cannot be written, none."""
    (folder,) = {path.parent for path in files}
    with making(folder):
        places = [writable(path) for path in files]
        with replacing_all(places) as unfinished:
            for write, path in zip(files.values(), unfinished, strict=True):
                write(path)
    return list(files)


def _draw_evaluation(evaluation: Mapping[str, Any], path: Path) -> None:
    panels = evaluation_panels(evaluation)
    for name, of in evaluation.get("attributes", {}).items():
        panels += [
            replace(panel, labels=[f"{label}: {name}" for label in panel.labels]) for panel in evaluation_panels(of)
        ]
    draw(panels, min(len(panels), 3), {"png": path}, title(evaluation))


def _write_json(content: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def summarize(run: RunFolder, evaluation: Mapping[str, Any]) -> dict[str, Any] | None:
    """``before`` and ``after`` of the run's first evaluated split, the seconds of each stage of the recipe
    (summed, when it was interrupted or run again) and ``reward_share``; None while there is only one evaluation."""
    split = evaluation["evaluations"][0]["split"]
    first, *last = [one for one in first_and_last(evaluation["evaluations"]) if one["split"] == split]
    if not last:
        return None
    seconds: dict[str, float] = defaultdict(float)
    for stage in read_jsonl(run.stages) if run.stages.exists() else []:
        seconds[stage["stage"]] += stage["seconds"]
    steps = [m for m in run.history().values() if "mad/timing/grade_s" in m and "timing_s/step" in m]
    return {
        "run": evaluation["run"],
        "split": split,
        "target": evaluation["target"],
        "before": first,
        "after": last[0],
        "seconds": dict(seconds),
        "reward_share_of_step": reward_share(steps),
    }


def reward_share(steps: Sequence[Mapping[str, float]]) -> dict[str, float] | None:
    """What the reward stage costs, as shares of the steps' time; None without timed steps.

    ``grade_and_score``: the requests that grade and score a response, waiting for siblings left out (its mean over
    responses; it overlaps generation). ``tail``: from the last response's arrival to the last reward.
    """
    total = sum(step["timing_s/step"] for step in steps)
    if not total:
        return None
    return {
        "grade_and_score": sum(s["mad/timing/grade_s"] + s["mad/timing/score_s"] for s in steps) / total,
        "tail": sum(step["mad/timing/reward_tail_s"] for step in steps) / total,
    }
