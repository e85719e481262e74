"""The import rules: the maths needs numpy only, and one folder alone touches veRL."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import madrl

PACKAGE = Path(madrl.__file__).parent
ROOT = PACKAGE.parent

HEAVY = {
    "torch", "verl", "ray", "transfer_queue", "tensordict", "vllm", "transformers", "datasets", "pandas", "pyarrow",
    "matplotlib", "hydra", "omegaconf", "rich", "scipy",
}  # fmt: skip

NUMPY_ONLY = (
    "madrl.divergence",
    "madrl.targets",
    "madrl.frequency",
    "madrl.reward",
    "madrl.rescore",
    "madrl.evaluation.intervals",
    "madrl.evaluation.metrics",
    "madrl.evaluation.per_prompt",
    "madrl.evaluation.samples",
)


def _loaded_by(code: str) -> set[str]:
    """Top-level names in sys.modules after a fresh interpreter has run ``code``, which must print nothing itself."""
    program = f"import sys\n{code}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", NUMPY_ONLY)
def test_the_maths_imports_numpy_and_nothing_heavier(module: str) -> None:
    loaded = _loaded_by(f"import {module}")
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_the_command_line_imports_not_even_numpy_before_it_knows_the_command() -> None:
    assert _loaded_by("import madrl.cli") & (HEAVY | {"numpy"}) == set()


def _imports(source: str) -> Iterator[str]:
    """Top-level name of every absolute import in ``source``, also those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_scan_sees_imports_of_every_kind() -> None:
    source = "import ray.util\nfrom verl.utils import x\nfrom . import y\ndef f():\n    import transfer_queue as tq"
    assert set(_imports(source)) == {"ray", "verl", "transfer_queue"}


def test_only_the_trainer_folder_imports_verl() -> None:
    offenders = {
        str(file.relative_to(ROOT))
        for file in PACKAGE.rglob("*.py")
        if (PACKAGE / "trainer") not in file.parents
        and {"verl", "ray", "transfer_queue"} & set(_imports(file.read_text(encoding="utf-8")))
    }
    assert offenders == set()


def test_the_sandbox_never_imports_madrl() -> None:
    files = (ROOT / "sandbox").rglob("*.py")
    offenders = {str(file) for file in files if "madrl" in set(_imports(file.read_text(encoding="utf-8")))}
    assert offenders == set()
