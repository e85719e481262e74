"""The version of the code that decides a run's outcome.

Neither the git commit nor the package's version: the first changes with every word of the documentation, the second
stays the same while rewards change. Instead, the modules that veRL's workers import and those that sample the holdout,
by their statements (madrl.source). The config files are left out, because the resolved config is hashed itself, and the
data's scripts, because the data are. Of the packages below, veRL's version counts, since it is pinned on every stack;
the same outcome on CPU and GPU builds of torch is not to be expected anyway.
"""

import functools
import hashlib
import importlib
from importlib.metadata import version

from madrl.recipe import Recipe
from madrl.source import digest, imported_by, plugin_modules

OF_A_RUN = (
    "madrl.sampling.holdout",
    "madrl.trainer.cpu_platform",
    "madrl.trainer.group_loop",
    "madrl.trainer.prefix_tree",
    "madrl.trainer.reward_manager",
    "madrl.trainer.replay_buffer",
)
"""What veRL loads of ours, and what samples the holdout; classifiers, verifiers and rewards are imported by them. How a
run is launched, resumed and watched decides nothing."""

ONLY_WATCHING = frozenset(
    (
        "madrl.alarms",
        "madrl.errors",
        "madrl.evaluation.metrics",
        "madrl.files",
        "madrl.sampling.journal",
        "madrl.progress",
        "madrl.launch_check",
        "madrl.records",
        "madrl.run_folder",
        "madrl.schema",
        "madrl.task_config",
        "madrl.tasks",
        "madrl.trainer.compose",
        "madrl.trainer.progress",
        "madrl.trainer.verl_settings",
        "madrl.warm_start.tables",
    )
)
"""Modules that the above import to measure, to show and to write, which leaves a run what it is. What a task says is in
its resolved config and its data."""

OF_A_WARM_START = ("madrl.trainer.sft", "madrl.warm_start.run")
"""What samples, finetunes and selects the model that a task's runs start from."""

MINIATURE = ("madrl.miniature.build",)
"""What makes the miniature model that a run of the tiny profile starts from."""

SMALL_MODEL = ("madrl.small_model",)
"""What makes the model that a run of the small profile starts from."""


@functools.cache
def code_hash(roots: tuple[str, ...], plugins: tuple[str, ...] = ()) -> str:
    """SHA-256 over the statements of ``roots`` and of every module of ours that they import, those of the user's own
    ``plugins``, and veRL's version."""
    modules = imported_by(roots, without=ONLY_WATCHING)
    for plugin in plugins:
        importlib.import_module(plugin)
        modules |= plugin_modules(plugin)
    return hashlib.sha256(f"{version('verl')} {digest(modules)}".encode()).hexdigest()


def plugins_of(recipe: Recipe) -> tuple[str, ...]:
    """The modules of the user's own classifiers, verifier and naming in ``recipe``."""
    specs = recipe.record.plugins
    specs |= {key: value for key, _, value in (o.lstrip("+").partition("=") for o in recipe.overrides) if key in specs}
    return tuple(sorted({spec.partition(":")[0] for spec in specs.values() if ":" in spec}))
