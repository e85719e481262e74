"""The version of the code that decides a run's outcome.

Neither the git commit nor the package's version: the first changes with every word of the documentation, the second
stays the same while rewards change. Instead, the modules that veRL's workers import and those that sample the holdout,
found by following their import statements, without comments, docstrings and layout. The config files are left out,
because the resolved config is hashed itself, and the data's scripts, because the data are. Of the packages below,
veRL's version counts, since it is pinned on every stack; the same outcome on CPU and GPU builds of torch is not to be
expected anyway.
"""

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import madrl

PACKAGE = Path(madrl.__file__).parent

OF_A_RUN = (
    "madrl.generation.holdout",
    "madrl.trainer.cpu_platform",
    "madrl.trainer.group_loop",
    "madrl.trainer.reward_manager",
    "madrl.trainer.sampler",
)
"""What veRL loads of ours, and what samples the holdout; classifiers, verifiers and rewards are imported by them. How a
run is launched, resumed and watched decides nothing."""

ONLY_WATCHING = frozenset(
    (
        "madrl.alarms",
        "madrl.errors",
        "madrl.evaluation.metrics",
        "madrl.evaluation.score",
        "madrl.files",
        "madrl.generation.journal",
        "madrl.generation.progress",
        "madrl.records",
        "madrl.run_folder",
    )
)
"""Modules that the above import to measure, to show and to write, which leaves a run what it is."""

OF_A_WARM_START = ("madrl.trainer.sft", "madrl.warm_start.run")
"""What samples, finetunes and selects the model that a task's runs start from."""

MINIATURE = ("madrl.miniature.build",)
"""What makes the miniature model that a run of the tiny profile starts from."""


@functools.cache
def code_hash(roots: tuple[str, ...]) -> str:
    """SHA-256 over the statements of ``roots`` and of every module of ours that they import, and veRL's version."""
    digest = hashlib.sha256(verl_version().encode())
    for name in sorted(imported_by(roots)):
        digest.update(f"\n{name}\n{statements(_file(name).read_text(encoding='utf-8'))}".encode())
    return digest.hexdigest()


def verl_version() -> str:
    """The installed veRL's version, without importing it; empty when there is none."""
    try:
        return version("verl")
    except PackageNotFoundError:
        return ""


def statements(source: str) -> str:
    """A module's source without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # Also the strings that document an attribute, below it.
            kept = [part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def imported_by(roots: Iterable[str]) -> set[str]:
    """``roots`` and every module of ours that they import, directly or not, also inside functions; ONLY_WATCHING left
    out."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found | ONLY_WATCHING:
            found.add(name)
            waiting += _imports(ast.parse(_file(name).read_text(encoding="utf-8")))
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        # The root package itself holds the version only, which changes with every release.
        yield from (name for name in names if name.startswith("madrl.") and _file(name).exists())


def _file(name: str) -> Path:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
