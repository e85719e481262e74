"""The model card of a run's checkpoint: what it was trained to, how near it came, and by which command.

It is what the Hugging Face hub shows of a model, Markdown below a header in YAML (huggingface_hub's ``ModelCardData``).
Numbers are of the run's own dumps, scored as `madrl evaluate` scores them. Folders of the machine are not in it: of a
path only the last part is.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from madrl import __version__
from madrl.evaluation.dumps import Evaluation, Run, before_last
from madrl.files import read_json
from madrl.markdown import markdown_text

TAGS = ["madrl", "verl", "grpo", "reinforcement-learning"]
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s\[\],'\"{}]*")
PATH = re.compile(r"(?<![^\s=\[,{('\":])(?:~|/(?!/))[^\[\],'\"{}]*/")
"""An absolute path up to its last part, wherever in an override a value may begin."""


def model_card(run: Run, name: str, step: int, evaluated_to: int) -> str:
    """The card of the checkpoint of ``step``, with the evaluations up to the step ``evaluated_to``; ``name`` is the
    model's."""
    config = run.folder.resolved_config()
    facts = _last_attempt(run)
    base = str(config.actor_rollout_ref.model.path)
    found = _first_and_last(run, evaluated_to)
    header: dict[str, Any] = {"library_name": "transformers", "pipeline_tag": "text-generation", "tags": TAGS}
    if _is_on_hub(base):
        header |= {"base_model": base, "base_model_relation": "finetune"}
    if found and found[-1]["step"]:  # at step 0 it is the initial model's
        header["model-index"] = [{"name": name, "results": [_result(run, found[-1])]}]
    parts = [
        f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---",
        f"# {markdown_text(name)}",
        f"{markdown_text(base if _is_on_hub(base) else Path(base).name)}, trained by GRPO with MaD-RL towards a target "
        f"distribution over the categories of its responses to the task {markdown_text(run.key.dataset)}. This is step "
        f"{step} of {run.steps}.",
    ]
    if run.profile == "tiny":
        parts.append("It is a miniature, which shows that the machinery works and nothing else.")
    for own in (run, *map(run.of_attribute, run.settings.attributes)):
        parts += _results(own, _first_and_last(own, evaluated_to))
    reward = " ".join(filter(None, (run.key.reward, run.key.weight)))
    versions = ", ".join(f"{package} {version}" for package, version in facts.get("versions", {}).items())
    parts += [
        "## How it was trained",
        f"Reward: {markdown_text(reward)}; {run.prompts_per_step} prompts a step with {run.group_size} responses each; "
        f"seed {run.key.seed}. Versions: {versions or f'madrl {__version__}'}.",
        "\n".join(["```bash", _command(facts.get("overrides", [])), "```"]),
        "Paths are shortened to their last part.",
    ]
    return "\n\n".join(parts) + "\n"


def _results(run: Run, found: Sequence[Evaluation]) -> Iterator[str]:
    """The section on one attribute: its categories, and how far the mix was and is from the target."""
    yield f"## Results{'' if run.attribute is None else f': {markdown_text(run.attribute)}'}"
    if not found:
        yield f"Nothing has been evaluated yet. The target: {_weights(run.target)}."
        return
    place = before_last(found)
    compared = [*([] if place is None else [found[place]]), found[-1]]
    heads = [f"{one['split']}, step {one['step']}" for one in compared]
    of_categories = [
        [name, f"{weight:.3f}", *(_number(one["by_category"][name], "share", ".3f") for one in compared)]
        for name, weight in {name: of["target"] for name, of in found[-1]["by_category"].items()}.items()
    ]
    yield _table(["share of", "target", *heads], of_categories)
    yield _table(
        ["", *heads],
        [
            ["JSD to the target, nats, of all responses together", *map(_jsd, compared)],
            ["its floor (mean to 95th percentile)", *map(_floor, compared)],
            ["number of on-support responses", *(str(one["on_support"]) for one in compared)],
            ["JSD of single prompts, mean", *(_jsd(_of_prompts(one)) for one in compared)],
            ["its floor", *(_floor(one["jsd_per_prompt"]) for one in compared)],
            ["responses to a prompt", *(str(one["jsd_per_prompt"]["n"]) for one in compared)],
            ["pass@1", *(_number(one, "pass@1", ".3f") for one in compared)],
            ["off-support", *(_number(one, "off_support", ".1%") for one in compared)],
        ],
    )
    yield (
        "In parentheses: 95 % intervals, problems or their clusters resampled. The floor is the JSD that a policy "
        "exactly on the target would measure at as many responses. Off-support responses are in none of the categories."
    )


def _first_and_last(run: Run, evaluated_to: int) -> list[Evaluation]:
    """The first and the last evaluation of validation and of holdout, up to a step; the others take time to score. In
    the order of their steps, and of those of one step holdout last."""
    found: list[Evaluation] = []
    for folder in (run.folder.validation, run.folder.holdout):
        steps = [step for step in run.folder.dump_steps(folder) if step <= evaluated_to]
        ends: dict[int, list[Evaluation]] = {}
        for order in (steps, steps[::-1]):
            for step in order:
                if step not in ends:
                    splits = run.splits(folder, step, run.records(folder, step))
                    ends[step] = [run.evaluation(step, split, samples) for split, samples in splits]
                if ends[step]:
                    break
        found += chain.from_iterable(ends.values())
    return sorted(found, key=lambda one: one["step"])


def _result(run: Run, one: Evaluation) -> dict[str, Any]:
    """The newest numbers in the hub's model-index, which lists models by them."""
    values = {
        "jsd": ("JSD to the target, nats, pooled", one["jsd"]),
        "jsd_floor": ("floor of that JSD", one["floor"]),
        "pass@1": ("pass@1", one["pass@1"]),
    }
    return {
        "task": {"type": "text-generation"},
        "dataset": {"name": f"{run.key.dataset}, {one['split']}", "type": run.key.dataset},
        "metrics": [
            {"type": kind, "name": name, "value": round(value, 6)}
            for kind, (name, value) in values.items()
            if value is not None
        ],
    }


def _of_prompts(one: Evaluation) -> dict[str, Any]:
    of: Mapping[str, Any] = one["jsd_per_prompt"]
    return {"jsd": of["mean"], "jsd_interval": of["interval"]}


def _jsd(one: Mapping[str, Any]) -> str:
    return _number(one, "jsd", ".4f")


def _floor(of: Mapping[str, Any]) -> str:
    return "" if of["floor"] is None else f"{of['floor']:.4f} to {of['floor_p95']:.4f}"


def _number(of: Mapping[str, Any], name: str, form: str) -> str:
    """The number with its interval."""
    if of[name] is None:
        return ""
    interval = of[f"{name}_interval"]
    known = interval is not None and None not in interval
    return f"{of[name]:{form}}" + (f" ({interval[0]:{form}} to {interval[1]:{form}})" if known else "")


def _weights(target: Mapping[str, float]) -> str:
    return ", ".join(f"{markdown_text(name)} {weight:.3g}" for name, weight in target.items())


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(markdown_text, line))} |" for line in lines)


def _last_attempt(run: Run) -> dict[str, Any]:
    if not run.folder.facts.exists():
        return {}
    attempts: list[dict[str, Any]] = read_json(run.folder.facts)["attempts"]
    return attempts[-1]


def _command(overrides: Sequence[str]) -> str:
    """`madrl train` with the overrides of the run, for a shell; of each path in them that is absolute the last part, of
    each address the scheme."""
    return shlex.join(["madrl", "train", *(PATH.sub("", ADDRESS.sub(r"\1...", override)) for override in overrides)])


def _is_on_hub(model: str) -> bool:
    return bool(HUB_NAME.fullmatch(model)) and not Path(model).exists()
