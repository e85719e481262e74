"""A task in a Hydra config: the override ``task=NAME|FILE.yaml``, and the keys that the task sets."""

import difflib
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from madrl.errors import MadrlError
from madrl.process import hydra_value
from madrl.tasks import DEFAULT_SIZES, PROFILES, TASKS, Task, load_task

CHOSEN = "chosen"
"""The option of Hydra's group ``task`` that the task of a run is stored under."""


def with_task(overrides: Sequence[str], warm_start: bool = False) -> list[str]:
    """The overrides as Hydra takes them, their task stored where Hydra finds it; in a config of a training, or of a
    ``warm_start``.

    Raises MadrlError when none of them names a task, and as ``load_task``.
    """
    from hydra.core.config_store import ConfigStore
    from hydra.core.override_parser.overrides_parser import OverridesParser

    named = [text for text in overrides if text.partition("=")[0] == "task"]
    if not named:
        raise MadrlError(f"task is not set: give it as task={'|'.join(TASKS)}, or task=FILE.yaml for your own")
    task = load_task(str(OverridesParser.create().parse_override(named[-1]).value()))
    ConfigStore.instance().store(CHOSEN, task_node(task, warm_start), group="task", package="_global_")
    return [*(text for text in overrides if text not in named), f"task={CHOSEN}"]


REPLACED = re.compile(
    r"madrl\.(target|classifier_args|verifier_args|attributes(\.\w+(\.(target|classifier_args))?)?)|warm_start\.target"
)
"""Keys whose value is set as a whole."""


OPTIONAL = re.compile(r"madrl\.attributes\.\w+(\.(target|weight|classifier_args))?")
"""Keys that an override adds where there are none: what an attribute may leave out, and a further attribute."""

JSON_TARGET = re.compile(r'^([+]{0,2}(?:madrl|madrl\.attributes\.\w+|warm_start)\.target)=(\{\s*".*)', re.DOTALL)
"""An override that sets a target in JSON."""

QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
"""A text in an override, in which nothing is a mapping."""

MAPPED_TARGET = re.compile(r"target\s*[=:]\s*(\{[^{}]*\})")
"""A target in an override, as a mapping of Hydra's."""

MAPPED_CATEGORY = re.compile(r"[{,]\s*((?:\\.|[^\\:,{}])+?)\s*:")
"""A category that such a target names."""


def replacing_mappings(overrides: Sequence[str]) -> list[str]:
    """The overrides, with each of REPLACED unset before one that sets it to a mapping: Hydra would merge the two. A
    target in JSON becomes text, which ``resolve_target`` reads: a mapping of Hydra's has no keys in quotes, and so no
    names but plain words.

    Raises MadrlError for a target that names a category twice, of which Hydra would keep the last.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    overrides = [JSON_TARGET.sub(lambda found: f"{found[1]}={hydra_value(found[2])}", text) for text in overrides]
    parsed = OverridesParser.create().parse_overrides(overrides)
    expanded = []
    for text, override in zip(overrides, parsed, strict=True):
        for target in MAPPED_TARGET.findall(QUOTED.sub("''", text)):
            named = MAPPED_CATEGORY.findall(target)
            if twice := [name for name in named if named.count(name) > 1]:
                raise MadrlError(f"target {reprlib.repr(target)} names category {twice[0]!r} twice: remove one")
        if REPLACED.fullmatch(override.key_or_group) and isinstance(override.value(), dict):
            added = "++" if text.startswith(("+", "madrl.attributes.")) else ""
            expanded.append(f"{added}{override.key_or_group}=null")
        if OPTIONAL.fullmatch(text.partition("=")[0]):
            text = f"++{text}"
        expanded.append(text)
    return expanded


NO_KEY = re.compile(r"Could not override '([^']+)'")


def told(error: Exception, keys: Callable[[], Iterable[str]] = tuple) -> str:
    """What an error of Hydra's or OmegaConf's means to whoever wrote an override, in one line.

    Args:
        keys: the keys that there are, to name the nearest to one that there is not.
    """
    text = " ".join(str(error).split())
    if found := NO_KEY.match(text):
        near = difflib.get_close_matches(found[1], list(keys()), n=1, cutoff=0.8)
        return f"there is no config key {found[1]!r}" + (f": did you mean {near[0]}?" if near else "")
    if override := getattr(error, "override", None):  # Hydra could not read it
        return (
            f"{override}: cannot be read as KEY=VALUE; write a mapping as '{{a: 2, b: 1}}', with quotes for the shell, "
            """and madrl.target, whose names may be no plain words, as '{"c++": 2, "c#": 1}'; others with such names """
            "belong in a task file"
        )
    return text


OWN_KEYS = {
    "paths": ("run", "data", "model", "task"),
    "size": PROFILES,
    **{f"size.{profile}": tuple(sizes) for profile, sizes in DEFAULT_SIZES.items()},
}
"""Node of ours that nothing else checks -> the keys in it."""


def check_own_keys(config: Mapping[Any, Any]) -> None:
    """Every key in a node of OWN_KEYS stands there, and ``madrl`` is a node; MadrlError otherwise."""
    if not isinstance(config["madrl"], Mapping):
        raise MadrlError(f"madrl={config['madrl']!r} is not a mapping")
    for path, known in OWN_KEYS.items():
        own: Any = config
        for name in path.split("."):
            own = own[name]
        if not isinstance(own, Mapping):
            raise MadrlError(f"{path}={own!r} is not a mapping: its keys are {', '.join(known)}")
        if unknown := [str(key) for key in own if key not in known]:
            raise MadrlError(f"unknown key {path}.{unknown[0]}: the keys are {', '.join(known)}")


def task_node(task: Task, warm_start: bool = False) -> Any:
    """What the task sets in a config of a training, or of a ``warm_start``, as an OmegaConf node. A warm start has the
    chat template's arguments that the training has."""
    from omegaconf import OmegaConf

    node = {
        "madrl": {
            "task": task.name,
            "categories": list(task.categories),
            "classifier": task.classifier,
            "classifier_args": dict(task.classifier_args),
            "verifier": task.verifier,
            "verifier_args": dict(task.verifier_args),
            "naming": task.naming,
            "attributes": dict(task.attributes),
        },
        "paths": {"data": str(task.data or f"data/{task.name}"), "task": task.file and str(task.file)},
        "size": task.sizes,
    }
    if not warm_start:
        return OmegaConf.merge(node, task.config)
    template = OmegaConf.select(OmegaConf.create(dict(task.config)), "data.apply_chat_template_kwargs") or {}
    return OmegaConf.merge(node, {"warm_start": {"chat_template": template}}, {"warm_start": task.warm_start})
