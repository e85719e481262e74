"""Run folders made without training: dumps drawn from a known mix, so that a report has something to show."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl.cli import main

CATEGORIES = ("en", "zh", "es", "hi", "fr")
PEAK = (0.0, 0.0, 1 / 3, 1 / 3, 1 / 3)
UNIFORM = (0.2,) * 5
START = (0.52, 0.2, 0.1, 0.08, 0.1)

CONFIG = """
seed: {seed}
paths: {{run: {root}, data: data}}
data: {{train_batch_size: 4}}
actor_rollout_ref:
  model: {{path: Qwen/Qwen3-4B-Instruct-2507, lora_rank: 0}}
  rollout: {{n: {group_size}}}
  actor: {{entropy_coeff: {entropy}}}
trainer: {{total_training_steps: {steps}, experiment_name: {name}}}
madrl:
  task: {dataset}
  profile: {profile}
  naming: null
  categories: [en, zh, es, hi, fr]
  target: {target}
  classifier: language
  verifier: math
  reward: {{divergence: {divergence}, form: {form}, alpha: {alpha}, lambda_g: 1.0, epsilon: 0.001}}
  max_ungraded_rate: 0.2
  launch_check: stop
"""


@dataclass(frozen=True)
class Made:
    """One run to make."""

    dataset: str = "gsm8k"
    target: str = "uniform"
    divergence: str = "rkl"
    form: str = "additive"
    alpha: float = 0.7
    seed: int = 42
    entropy: float = 0.0
    miss: float = 0.1
    """How far the last dump's mix is from the target, on the way back to START."""
    accuracy: float = 0.6
    off_support: float = 0.02
    status: str = "finished"
    steps: int = 40
    holdout: bool = True
    problems: int = 40
    samples: int = 4
    group_size: int = 8
    profile: str = "tiny"

    @property
    def name(self) -> str:
        parts = (self.dataset, self.target, self.divergence, self.form, self.alpha, self.entropy, self.seed)
        return re.sub(r"[^\w.]+", "-", "_".join(map(str, parts)))


def mix(made: Made, step: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    goal = np.array(UNIFORM if made.target == "uniform" else PEAK)
    part = 1.0 - (1.0 - made.miss) * step / made.steps
    return (1 - part) * goal + part * np.array(START)


def responses(
    shares: Any, accuracy: float, off_support: float, problems: int, samples: int, seed: int, split: str
) -> list[dict[str, Any]]:
    generator = np.random.default_rng(seed)
    shares = np.array(shares) / np.sum(shares)
    rows = []
    for problem in range(problems):
        for session in range(samples):
            category = None if generator.random() < off_support else CATEGORIES[generator.choice(5, p=shares)]
            correct = bool(generator.random() < accuracy)
            rows.append(
                {
                    "group": f"p{problem}",
                    "session": session,
                    "turn": 0,
                    "row": problem,
                    "prompt": f"problem {problem}",
                    "response": f"answer {session} in {category}",
                    "ground_truth": "4",
                    "category": category,
                    "correct": float(correct),
                    "verdict": "correct" if correct else "incorrect",
                    "reason": "" if correct else "wrong",
                    "answer": "4",
                    "reward": 0.5,
                    "split": split,
                }
            )
    return rows


def as_verl_dumps(row: dict[str, Any]) -> dict[str, Any]:
    """The response as a line of RUN/validation."""
    verl = {"input": row["prompt"], "output": row["response"], "gts": row["ground_truth"], "score": row["reward"]}
    own = {"uid": "{group}_{session}_{turn}".format(**row), "row": str(row["row"])}
    gone = ("group", "session", "turn", "prompt", "response", "ground_truth")
    return verl | {name: value for name, value in row.items() if name not in gone} | own


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_run(made: Made, parent: Path) -> Path:
    root = parent / made.name
    root.mkdir(parents=True)
    text = CONFIG.format(root=root, name=made.name, **{f: getattr(made, f) for f in made.__dataclass_fields__})
    (root / "config.yaml").write_text(text)
    attempt = {"status": made.status, "overrides": [], "started": "2026-01-01"}
    (root / "run.json").write_text(json.dumps({"attempts": [attempt]}))
    reached = made.steps if made.status == "finished" else made.steps // 2
    for step in range(0, reached + 1, max(1, made.steps // 4)):
        rows = responses(
            mix(made, step), made.accuracy, made.off_support, made.problems, made.samples, step, "validation"
        )
        write_jsonl(root / "validation" / f"{step}.jsonl", [as_verl_dumps(row) for row in rows])
    history = []
    for step in range(1, reached + 1):
        shares = mix(made, step)
        data = {f"mad/share/{name}": float(p) for name, p in zip(CATEGORIES, shares, strict=True)}
        data |= {
            "mad/jsd": 0.2 * made.miss + 0.3 / step,
            "mad/jsd_per_prompt": 0.05 + 0.4 / step,
            "mad/off_support_rate": made.off_support,
            "mad/ungraded_rate": 0.0,
            "mad/pass@1": made.accuracy,
            "mad/correctness/mean": made.accuracy,
            "mad/divergence_reward/mean": -1.0 / step,
            "mad/reward/mean": 0.5,
            "mad/single_category_group_rate": 0.1,
            "mad/alarm/starved_categories": float(10 <= step < 20),
            "mad/alarm/ungraded": 0.0,
        }
        history.append({"step": step, "data": data})
    write_jsonl(root / "metrics" / "attempt-1.jsonl", history)
    if made.status == "finished" and made.holdout:
        seed = made.seed + round(100 * made.alpha)
        shares = mix(made, made.steps)
        rows = responses(shares, made.accuracy, made.off_support, made.problems, made.samples, seed, "holdout")
        write_jsonl(root / "holdout" / f"{made.steps}.jsonl", rows)
    return root


MISS = {"l2": 0.3, "fkl": 0.12, "rkl": 0.05, "jsd": 0.15}


def grid(parent: Path, seeds: Sequence[int] = (42, 123), problems: int = 30) -> list[Path]:
    """A small grid: GSM8K, four divergences, gated and add70, both targets, and RLVR; with one run that failed (L2,
    uniform, add70, the last seed) and one that never started (FKL, peak, gated, the first). And SYNTHETIC, closed and
    uniform."""
    made = []
    for target, divergence, seed in product(("uniform", "peak"), MISS, seeds):
        common: dict[str, Any] = {"target": target, "divergence": divergence, "seed": seed, "problems": problems}
        for form, more in (("gated", 1.3), ("additive", 1.0)):
            cell = (target, divergence, form, seed)
            if cell == ("peak", "fkl", "gated", seeds[0]):
                continue
            status = "failed" if cell == ("uniform", "l2", "additive", seeds[-1]) else "finished"
            made.append(Made(**common, form=form, miss=MISS[divergence] * more, status=status))
        if target == "uniform":
            common |= {"dataset": "synthetic_closed", "alpha": 0.0, "holdout": False, "samples": 8, "accuracy": 1.0}
            made.append(Made(**common, miss=MISS[divergence], off_support=0.01))
    made += [Made(form="rlvr", seed=seed, miss=0.9, accuracy=0.7, problems=problems) for seed in seeds]
    return [write_run(one, parent) for one in made]


def small_report(factory: pytest.TempPathFactory) -> Path:
    """The report of the small grid with two files of responses, through the command line; made once a session."""
    folder = factory.getbasetemp() / "small_report"
    if not (folder / "out").exists():
        grid(folder / "runs", problems=16)
        for name, shares in (("base", (1, 0, 0, 0, 0)), ("init", (0.3, 0.2, 0.2, 0.2, 0.1))):
            write_jsonl(folder / f"{name}.jsonl", responses(shares, 0.5, 0.0, 200, 4, 7, "holdout"))
        baselines = [f"--baseline=gsm8k:base={folder}/base.jsonl", f"--baseline=gsm8k:SFT init={folder}/init.jsonl"]
        call = ["report", str(folder / "runs"), "-o", str(folder / "out"), *baselines, "--compare", "paper"]
        assert main(call) == 0
    return folder / "out"
