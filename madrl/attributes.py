"""Further attributes that a run steers beside the first: how long the responses are, say, beside their language.

    madrl.attributes={length: {classifier: length, classifier_args: {...}, categories: [short, long], target: uniform}}

The first attribute is the run's own: ``madrl.classifier``, ``madrl.categories`` and ``madrl.target``. Each further one
has a name, a classifier, categories and a target of its own, and the distributional terms are added:

    r_div = r_div of the first + sum_a weight_a * r_div of attribute a

Each term is computed as if its attribute were the only one. What is steered are the attributes' own distributions;
which of their categories go together is left to the policy (a target for that takes one classifier whose categories are
the pairs). On disk a response has what it is of each further attribute under the key ``attributes``, and in the metrics
of a step an attribute has ``mad/attributes/<name>/`` in place of ``mad/``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from madrl.errors import MadrlError
from madrl.reward import RewardConfig
from madrl.targets import check_categories, is_number, resolve_target

if TYPE_CHECKING:  # what loads plug-ins is not needed to read a config
    from madrl.grading.plugins import Plugin

KEYS = ("classifier", "classifier_args", "categories", "target", "weight")
"""What an attribute has in a config."""

EXAMPLE = "{length: {classifier: length, classifier_args: {...}, categories: [short, long]}}"


@dataclass(frozen=True)
class Attribute:
    """What one further attribute of a response is, and what is wanted of it."""

    classifier: "Plugin"
    """A key of CLASSIFIERS, ``pkg.module:name``, a function or a class."""
    categories: tuple[str, ...]
    target: NDArray[np.float64]
    """p*, shape (K,), in the order of ``categories``; the same for all prompts and all steps."""
    classifier_args: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    """The factor of its r_div, above 0; that of the first attribute is 1."""


def attributes_of(node: object, where: str = "madrl.attributes") -> dict[str, Attribute]:
    """Check a plain mapping from the attributes' names to their KEYS; ``target`` is uniform where it is left out.

    Raises MadrlError for a name that is no lower-case word, for an unknown or a missing key, and for every value that
    makes no sense.
    """
    if not isinstance(node, Mapping):
        raise MadrlError(f"{where}={node!r} is not a mapping: write {where}={EXAMPLE}")
    return {name: _attribute(name, content, f"{where}.{name}") for name, content in node.items()}


def check_reward(attributes: Mapping[str, Attribute], config: RewardConfig) -> None:
    """Raises MadrlError where a reward of this kind has no rule for several attributes: offsets are made for one
    divergence reward and not for a sum (``madrl.calibration``), and GAPO has a reward of its own."""
    if attributes and config.calibrate:
        raise MadrlError("calibrate=True with further attributes: its offsets are those of a single one; leave it out")
    if attributes and config.form == "gapo":
        raise MadrlError("form=gapo with further attributes: GAPO has no rule for several; use form=additive")


def metrics_of_attribute(metrics: Mapping[str, float], name: str) -> dict[str, float]:
    """What a step's metrics say of one further attribute, by the names that those of the first have."""
    prefix = metric_prefix(name)
    return {f"mad/{key.removeprefix(prefix)}": value for key, value in metrics.items() if key.startswith(prefix)}


def metric_prefix(name: str) -> str:
    """What the names of an attribute's metrics begin with."""
    return f"mad/attributes/{name}/"


def _attribute(name: object, content: object, where: str) -> Attribute:
    if not (isinstance(name, str) and name.isascii() and name.isidentifier() and name == name.lower()):
        raise MadrlError(f"{where}: {name!r} is no name: use lower-case letters, digits and _")
    if not isinstance(content, Mapping):
        raise MadrlError(f"{where}={content!r} is not a mapping: its keys are {list(KEYS)}")
    if unknown := [key for key in content if key not in KEYS]:
        raise MadrlError(f"unknown key {where}.{unknown[0]}: the keys are {list(KEYS)}")
    given = {key: value for key, value in content.items() if value is not None}
    if missing := [key for key in ("classifier", "categories") if key not in given]:
        raise MadrlError(f"{where}.{missing[0]} is not set")
    if not isinstance(given["categories"], list | tuple):
        raise MadrlError(f"{where}.categories={given['categories']!r} is not a list: write [a, b, c]")
    arguments = given.get("classifier_args", {})
    if not isinstance(arguments, Mapping):
        raise MadrlError(f"{where}.classifier_args={arguments!r} is not a mapping: write {{name: value}}")
    weight = given.get("weight", 1.0)
    if not is_number(weight, 0.0, 1e6) or weight == 0.0:
        raise MadrlError(f"{where}.weight={weight!r} is not a number in (0, 1e6]: the first attribute's is 1")
    try:
        categories = check_categories(given["categories"])
        target = resolve_target(given.get("target", "uniform"), categories)
    except MadrlError as error:
        raise MadrlError(f"{where}: {error}") from error
    return Attribute(given["classifier"], categories, target, dict(arguments), float(weight))
