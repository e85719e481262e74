"""Settings by which runs differ that stand in one table: what a difference between their numbers may also come from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from madrl.evaluation.dumps import Run
from madrl.recipe import CELL_KEYS, NOT_DECIDING

SAID_ELSEWHERE = (
    *NOT_DECIDING,
    *CELL_KEYS,
    "madrl.task",
    "madrl.profile",
    "madrl.categories",
    "actor_rollout_ref.actor.entropy_coeff",
    "actor_rollout_ref.actor.checkpoint",
    "trainer.v1.sampler.sampler_kwargs",
)
"""What the rows and columns of the tables say already, what decides nothing, and a copy of the node ``madrl``."""

CALIBRATE = "madrl.reward.calibrate"
"""Follows from the form of a reward, or is in its name. The name does not have it where only the prompts' own targets
make a difference of it: they are not in the config."""

SHOWN_VALUES = 4


def differing_settings(runs: Sequence[Run]) -> list[str]:
    """One line for each config key on which runs of a dataset do not agree: ``math: KEY: 1 (24 runs), 2 (3 runs)``.

    What a run's key says is left out, and so are names, seeds, and paths inside of the run's own folders. CALIBRATE is
    there only where runs of one target, reward and form do not agree on it. Where keys go together in all runs, such as
    the copies of one in a resolved config, the shortest stands for all.
    """
    from omegaconf import OmegaConf

    lines = []
    for dataset in dict.fromkeys(run.key.dataset for run in runs):
        configs, rewards = [], []
        for run in runs:
            if run.key.dataset == dataset:
                rewards.append((run.key.target, run.key.reward, run.settings.reward.form))
                config: Any = OmegaConf.to_container(OmegaConf.load(run.folder.config))
                own = [str((config.get("paths") or {}).get(name, "")) for name in ("run", "data")]
                configs.append({key: _within(value, own) for key, value in _leaves(config)})
        columns: dict[tuple[str, ...], str] = {}
        for key in sorted({key for config in configs for key in config}, key=lambda key: (len(key), key)):
            values = tuple(str(config.get(key, "not set")) for config in configs)
            if len(set(values)) > 1 and not _said_elsewhere(key, rewards, values):
                columns.setdefault(values, key)
        for values, key in columns.items():
            found = Counter(values)
            shown = [f"{value} ({count} run{'s' * (count > 1)})" for value, count in found.most_common(SHOWN_VALUES)]
            shown += ["..."] if len(found) > SHOWN_VALUES else []
            lines.append(f"{dataset}: {key}: {', '.join(shown)}")
    return lines


def _said_elsewhere(key: str, rewards: Sequence[tuple[str, ...]], values: Sequence[str]) -> bool:
    """Whether the tables say already which ``values`` a key has in the runs, of these targets, rewards and forms."""
    if key == CALIBRATE:
        return len({*zip(rewards, values, strict=True)}) == len({*rewards})
    last = key.rpartition(".")[2]
    return last.endswith(("seed", "experiment_name")) or any(f"{key}.".startswith(f"{own}.") for own in SAID_ELSEWHERE)


def _within(value: Any, own: Sequence[str]) -> Any:
    """``value``, a path inside of the run or its data without where those lie."""
    for place, folder in zip(("RUN", "DATA"), own, strict=True):
        if folder and isinstance(value, str) and (value == folder or value.startswith(f"{folder}/")):
            return place + value.removeprefix(folder)
    return value


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _leaves(child, f"{path}.{key}".lstrip("."))
    else:
        yield path, node
