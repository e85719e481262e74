"""The runs behind docs/which_reward.md: real veRL trainings of the miniatures, one after the other, on two CPU cores.

    python docs/which_reward/study.py list         which runs there are, and which of them are done
    python docs/which_reward/study.py run [WORD]   the runs that are not done (whose names contain WORD); after a kill,
                                                   the same command goes on, in the middle of a run
    python docs/which_reward/study.py table        what the runs came to, as the tables of the page
    python docs/which_reward/study.py figure       accuracy against JSD in the frontiers, to frontier.png
    python docs/which_reward/study.py compare A B  the accuracy at the target mix of the runs A_seed* less that of the
                                                   runs B_seed* with the same seeds

A run's folder is made in $OUT (outputs/which_reward). What is kept of it is runs/NAME.json beside this file: how it was
called, the SHA-256 of the model that it started from, the holdout's responses by problem, and each step's metrics.
"""

import hashlib
import json
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from madrl.evaluation.intervals import percentile_interval, resampled_sums
from madrl.evaluation.samples import score_samples
from madrl.files import write_text
from madrl.report.drawing import draw
from madrl.report.panels import COLORS, Panel, Series, Symbol
from madrl.run_folder import RunFolder

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"
FIGURE = HERE / "frontier.png"
OUT = Path(os.environ.get("OUT") or HERE.parent.parent / "outputs" / "which_reward").absolute()

SKEWED = "{en: 0.6, zh: 0.2, es: 0.1, hi: 0.05, fr: 0.05}"
WARM_START = OUT / "math_warm_start_tiny_seed42" / "model"
WITHOUT_FRENCH = OUT / "models" / "math_without_french" / "model"
FRONTIER_SEEDS = ("42", "123")

ARMS: dict[str, tuple[str, Symbol]] = {
    "additive": (COLORS[0], "circle"),
    "decoupled": (COLORS[5], "diamond"),
    "additive, 16 prompts a step, half as many steps": (COLORS[1], "square"),
    "additive, lower learning rate": (COLORS[2], "square"),
}
"""What runs with different weights of correctness have in common -> the colour and the symbol of their dots."""
METRICS = ("jsd", "jsd_per_prompt", "pass@1", "off_support_rate", "equal_reward_group_rate")


class Planned(NamedTuple):
    """One run: ``madrl run TASK TARGET rkl OVERRIDES`` with these environment variables."""

    name: str
    task: str
    target: str
    variables: dict[str, str]
    overrides: tuple[str, ...]
    study: str
    """The table that it is a row of."""
    frontier: str = ""
    """The panel of the figure that it is a dot in; empty for none."""
    arm: str = ""
    """A key of ARMS, in the figure."""
    folder: str = ""
    """The run's folder in OUT, if not its name: shared with a shorter run, from whose last step it goes on."""

    @property
    def steps(self) -> int:
        key = "trainer.total_training_steps="
        return next(int(text.removeprefix(key)) for text in self.overrides if text.startswith(key))

    @property
    def run_folder(self) -> RunFolder:
        return RunFolder(OUT / (self.folder or self.name))

    @property
    def kept(self) -> Path:
        return RUNS / f"{self.name}.json"


def frontier(task: str, steps: int) -> Iterator[Planned]:
    """The paper's form at four weights, and correctness within the category at three; two seeds.

    The learning rate is constant: the runs of 80 steps are those of 40, taken further.
    """
    arms = [("additive", alpha) for alpha in ("0.7", "0.9", "0.55", "0.8")]
    arms += [("decoupled", alpha) for alpha in ("0.5", "0.3", "0.7")]
    for seed in FRONTIER_SEEDS:
        for form, alpha in arms:
            variables = {"FORM": form, "ALPHA": alpha, "SEED": seed, "MODEL": model_of(task)}
            arm = f"{task}_peak_{form}{alpha}"
            name, folder = f"{arm}_{steps}steps_seed{seed}", f"{arm}_seed{seed}"
            overrides, title = (f"trainer.total_training_steps={steps}",), f"{task} frontier, {steps} steps"
            yield Planned(name, task, "peak", variables, overrides, title, title, form, folder)


def calibration() -> Iterator[Planned]:
    """A target with two categories of 5 %, in groups of 16: the paper's form with and without offsets."""
    for seed in ("42", "123", "200"):
        for arm, calibrate in (("plain", "false"), ("calibrated", "true")):
            variables = {"SEED": seed, "MODEL": model_of("math")}
            overrides = (f"madrl.reward.calibrate={calibrate}", "trainer.total_training_steps=80")
            yield Planned(f"math_skewed_{arm}_seed{seed}", "math", SKEWED, variables, overrides, "math, skewed target")


def hints() -> Iterator[Planned]:
    """From a model that never answers in French unless it is asked to, towards the uniform target."""
    for seed in ("42", "123", "200"):
        for arm, override in (("plain", "madrl.launch_check=warn"), ("hints", "madrl.hints=2")):
            variables = {"SEED": seed, "MODEL": str(WITHOUT_FRENCH)}
            overrides = (override, "trainer.total_training_steps=80")
            name = f"math_without_french_{arm}_seed{seed}"
            yield Planned(name, "math", "uniform", variables, overrides, "math, one language missing")


def settings() -> Iterator[Planned]:
    """What else than the weight decides how much accuracy is lost; the rest is as in the frontier."""
    more_prompts = ("data.train_batch_size=16", "actor_rollout_ref.rollout.n=16", "trainer.total_training_steps=40")
    lower_rate = ("actor_rollout_ref.actor.optim.lr=3e-4", "trainer.total_training_steps=80")
    more_kl = ("actor_rollout_ref.actor.kl_loss_coef=0.2", "trainer.total_training_steps=40")
    _, _, half_the_steps, lower = ARMS
    for seed in FRONTIER_SEEDS:
        for alpha, setting, overrides, arm in (
            ("0.8", "lr3e-4_80steps", lower_rate, lower),
            ("0.8", "kl0.2_40steps", more_kl, ""),
            ("0.8", "16prompts_40steps", more_prompts, half_the_steps),
            ("0.7", "16prompts_40steps", more_prompts, half_the_steps),
        ):
            variables = {"FORM": "additive", "ALPHA": alpha, "SEED": seed, "MODEL": model_of("gsm8k")}
            name = f"gsm8k_peak_additive{alpha}_{setting}_seed{seed}"
            panel = "gsm8k frontier, 80 steps" if arm else ""  # which has as many prompts
            yield Planned(name, "gsm8k", "peak", variables, overrides, "gsm8k, what loses least", panel, arm)


def model_of(task: str) -> str:
    """The model that the task's runs start from; empty for the miniature of the tiny profile."""
    return str(WARM_START) if task == "math" else ""


def plan() -> list[Planned]:
    return [
        *(run for run in calibration() if "seed42" in run.name),
        *(run for run in hints() if "seed42" in run.name),
        *frontier("gsm8k", 40),
        *settings(),
        *calibration(),
        *hints(),
        *frontier("math", 40),
        *frontier("gsm8k", 80),
        *frontier("math", 80),
    ]


def run(words: list[str]) -> None:
    for planned in (run for last in plan_by_name(words) for run in (*shorter(last), last)):
        if not planned.kept.exists():
            train(planned)
            lines = (f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in kept_of(planned).items())
            write_text(planned.kept, "{\n" + ",\n".join(lines) + "\n}\n")


def plan_by_name(words: list[str]) -> list[Planned]:
    return list({p.name: p for p in plan() if all(word in p.name for word in words)}.values())


def shorter(planned: Planned) -> list[Planned]:
    """The runs that come first, as the run goes on in their folder."""
    same = (run for run in plan() if run.run_folder.root == planned.run_folder.root)
    return [run for run in same if run.steps < planned.steps]


def train(planned: Planned) -> None:
    environment = os.environ | {"PROFILE": "tiny", "OUT": str(OUT), "NAME": planned.run_folder.root.name}
    environment |= planned.variables
    make_model(planned)
    words = [planned.task, planned.target, "rkl", *planned.overrides]
    print(f"=== {planned.name}", flush=True)
    subprocess.run([sys.executable, "-m", "madrl.cli", "run", *words], env=environment, check=True)


def make_model(planned: Planned) -> None:
    """The model that the run starts from, when it is not there."""
    environment = {**os.environ, "PROFILE": "tiny", "OUT": str(OUT)}
    madrl = [sys.executable, "-m", "madrl.cli"]
    model = Path(planned.variables["MODEL"])
    if model == WARM_START and not model.exists():
        subprocess.run([*madrl, "run", "math", "warm_start"], env=environment, check=True)
    if model == WITHOUT_FRENCH and not model.exists():
        data = OUT / "data" / "math_miniature"
        prepare = [sys.executable, "-m", "data_prep.miniature", "--task", "math", "--local_save_dir", str(data)]
        subprocess.run(prepare, check=True)
        # Asked by name it answers in any of the five languages; otherwise in these shares.
        skew = ["--base", "--skew", "45,25,15,15,0"]
        build = [*madrl, "miniature", "--task", "math", "--data", str(data), *skew, "-o", str(model.parent)]
        subprocess.run(build, check=True)


def kept_of(planned: Planned) -> dict[str, Any]:
    folder = planned.run_folder
    model = Path(str(folder.resolved_config().paths.model))
    steps = planned.steps
    problems = defaultdict(list)
    for line in (folder.holdout / f"{steps}.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        verdict = {1.0: "+", 0.0: "-", None: "?"}[record["correct"]]
        problems[record["group"]].append((record["category"] or "~") + verdict)
    settings = folder.settings()
    names = [*METRICS, *(f"share/{name}" for name in settings.categories)]
    history = {step: values for step, values in folder.history().items() if step <= steps}
    return {
        "name": planned.name,
        "study": planned.study,
        "called": ["madrl", "run", planned.task, planned.target, "rkl", *planned.overrides],
        "variables": {"PROFILE": "tiny", **planned.variables, "MODEL": model.parent.name},
        "model_sha256": hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest(),
        "categories": list(settings.categories),
        "target": settings.target.tolist(),
        "epsilon": settings.reward.epsilon,
        "holdout": [" ".join(responses) for responses in problems.values()],
        "steps": {
            name: [round(values.get(f"mad/{name}", float("nan")), 4) for values in history.values()] for name in names
        },
    }


def scores(kept: dict[str, Any]) -> dict[str, Any]:
    """The holdout's numbers, as ``madrl evaluate`` computes them."""
    samples = [
        {
            "group": str(problem),
            "session": session,
            "turn": 0,
            "category": None if text[:-1] == "~" else text[:-1],
            "correct": {"+": 1.0, "-": 0.0, "?": None}[text[-1]],
        }
        for problem, responses in enumerate(kept["holdout"])
        for session, text in enumerate(responses.split())
    ]
    return score_samples(samples, kept["categories"], np.array(kept["target"]), kept["epsilon"])


def table(planned: list[Planned]) -> Iterator[str]:
    """The kept runs as Markdown tables, one for each study."""
    for study in dict.fromkeys(run.study for run in planned):
        kept = [json.loads(run.kept.read_text(encoding="utf-8")) for run in planned if run.study == study]
        names = kept[0]["categories"]
        yield f"\n{study}\n"
        yield f"| run | JSD | of single prompts | pass@1 | at the target mix | off-support | {' | '.join(names)} |"
        yield "|---" * (6 + len(names)) + "|"
        for run in kept:
            found = scores(run)
            low, high = found["jsd_interval"]
            shares = [f"{found['by_category'][name]['share']:.3f}" for name in names]
            accuracy = [found["pass@1"], found["accuracy_at_target"], found["off_support"]]
            rates = ["—" if value is None else f"{value:.3f}" for value in accuracy]
            jsd = f"{found['jsd']:.4f} ({low:.4f} to {high:.4f})"
            single = "{mean:.4f} (floor {floor:.4f})".format(**found["jsd_per_prompt"])
            yield f"| {' | '.join([run['name'], jsd, single, *rates, *shares])} |"


def compare(arm: str, other: str) -> str:
    """The mean difference over the seeds that both have, with its interval: the problems, which are the same in all
    runs, resampled."""
    pairs = [[RUNS / f"{name}_seed{seed}.json" for name in (arm, other)] for seed in FRONTIER_SEEDS]
    runs = [
        json.loads(path.read_text(encoding="utf-8")) for pair in pairs if all(map(Path.exists, pair)) for path in pair
    ]
    if not runs:
        raise SystemExit(f"{arm} and {other} have no seed in common in {RUNS}")
    target = np.array(runs[0]["target"])
    per_problem = np.hstack([counts(run, verdict) for run in runs for verdict in "+-"])
    sums = np.vstack([per_problem.sum(axis=0), resampled_sums(per_problem)])
    right, wrong = np.moveaxis(sums.reshape(len(sums), -1, 2, 2, target.size), 3, 0)[..., target > 0]
    at_target = (right / (right + wrong)) @ target[target > 0]
    found, *resampled = (at_target[..., 0] - at_target[..., 1]).mean(axis=1)
    low, high = percentile_interval(np.array(resampled)) or (math.nan, math.nan)
    return f"accuracy at the target mix, {len(runs) // 2} seeds: {found:+.3f} ({low:+.3f} to {high:+.3f})"


def counts(kept: dict[str, Any], verdict: str) -> NDArray[np.float64]:
    """How often each problem's responses are in each category with this verdict. Shape (problems, K)."""
    answers = [responses.split() for responses in kept["holdout"]]
    return np.array([[of.count(f"{name}{verdict}") for name in kept["categories"]] for of in answers], dtype=float)


def panels(planned: list[Planned]) -> Iterator[Panel]:
    """Of each frontier and seed with a run to draw: a dot for each run."""
    drawn = [run for run in planned if run.frontier]
    for frontier, seed in sorted({(run.frontier, run.variables["SEED"]) for run in drawn}, key=in_order):
        found = [run for run in drawn if run.frontier == frontier and run.variables["SEED"] == seed]
        name = frontier.replace(" frontier", "").replace("gsm8k", "GSM8K").replace("math", "MATH")
        series = [dots([run for run in found if run.arm == arm], arm) for arm in ARMS]
        yield Panel(
            [f"{name}, seed {seed}"],
            [one for one in series if one.x],
            "accuracy at the target mix",
            "JSD to the target, nats",
            log_x=True,
            from_zero=False,
        )


def in_order(panel: tuple[str, str]) -> tuple[str, int]:
    """The tasks and lengths in order, and within them the seeds, which are numbers."""
    return panel[0], int(panel[1])


def dots(planned: list[Planned], arm: str) -> Series:
    """The runs of an arm, with their 95 % intervals and their weights beside them."""
    runs = sorted(planned, key=lambda run: run.variables["ALPHA"])
    found = [scores(json.loads(run.kept.read_text(encoding="utf-8"))) for run in runs]
    (low, high), (x_low, x_high) = (
        zip(*(one[f"{name}_interval"] for one in found), strict=True) if found else ((), ())
        for name in ("accuracy_at_target", "jsd")
    )
    color, symbol = ARMS[arm]
    return Series(
        arm,
        "dots",
        [one["jsd"] for one in found],
        [one["accuracy_at_target"] for one in found],
        color,
        low,
        high,
        x_low=x_low,
        x_high=x_high,
        symbol=symbol,
        labels=[run.variables["ALPHA"] for run in runs],
    )


def main() -> None:
    verb, words = (sys.argv[1:2] or ["list"])[0], sys.argv[2:]
    if verb == "run":
        run(words)
    elif verb == "list":
        for planned in plan_by_name(words):
            print("done" if planned.kept.exists() else "    ", planned.name)
    elif verb == "table":
        print("\n".join(table([planned for planned in plan_by_name(words) if planned.kept.exists()])))
    elif verb == "figure":
        draw(list(panels([planned for planned in plan_by_name(words) if planned.kept.exists()])), 2, {"png": FIGURE})
    elif verb == "compare":
        print(compare(*words))


if __name__ == "__main__":
    main()
