"""The import rules: data flows one way, the maths needs numpy only, and two places alone touch veRL, Ray and vLLM."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import madrl

PACKAGE = Path(madrl.__file__).parent
ROOT = PACKAGE.parent

LAYERS = (
    ("errors", "__init__"),
    (
        "extras",
        "files",
        "tasks",
        "targets",
        "divergence",
        "rollout",
        "progress",
        "markdown",
        "source",
        "install",
        "failures",
        "gpus",
    ),
    ("prompt_targets", "target_schedule"),
    ("frequency", "calibration", "process", "schema", "small_model"),
    ("reward", "records", "recipe", "task_config"),
    ("attributes",),
    ("settings", "rescore", "bench"),
    ("run_folder",),
    ("grading", "alarms"),
    ("group_reward", "prompts", "evaluation"),
    ("launch_check", "hints", "model_card"),
    ("hub",),
    ("trainer",),
    ("sampling", "miniature", "gpu_host"),
    ("warm_start", "doctor"),
    ("run",),
    ("temperature_sweep",),
    ("grid",),
    ("report",),
    ("alternatives",),
    ("commands",),
    ("cli",),
)
"""The modules and folders of madrl, from the bottom up. Each may import those of earlier lines, and nothing else: not
its neighbours on its own line either."""

FRAMEWORKS = {"verl", "ray", "transfer_queue", "tensordict", "vllm"}
FRAMEWORK_USERS = ("madrl.trainer.", "madrl.sampling.engine")
"""The modules, by how their names start, that may import FRAMEWORKS."""

HEAVY = {
    "torch", "transformers", "datasets", "pandas", "pyarrow", "matplotlib", "hydra", "omegaconf", "rich", "scipy",
    "httpx", "sympy", "math_verify", "py3langid", "tree_sitter", *FRAMEWORKS,
}  # fmt: skip

NUMPY_ONLY = (
    "madrl.divergence",
    "madrl.targets",
    "madrl.frequency",
    "madrl.calibration",
    "madrl.reward",
    "madrl.attributes",
    "madrl.rescore",
    "madrl.group_reward",
    "madrl.hints",
    "madrl.prompt_targets",
    "madrl.target_schedule",
    "madrl.evaluation.accuracy",
    "madrl.evaluation.intervals",
    "madrl.evaluation.metrics",
    "madrl.evaluation.per_prompt",
    "madrl.evaluation.samples",
    "madrl.evaluation.targets",
)

SIX_LINES = """
import madrl
reward = madrl.GroupReward(
    categories=["en", "es"], target={"es": 3, "en": 1}, classifier=lambda rollout: "es", verifier="math", alpha=0.7
)
score = reward.score([madrl.Rollout("La respuesta es 4.", "4"), madrl.Rollout("La respuesta es 5.", "4")])
assert (score.reward[0], [grade.correctness for grade in score.grades]) == (score.reward[1] + 0.7, [1, 0])
"""


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


def test_the_library_s_six_lines_load_numpy_and_nothing_heavier() -> None:
    loaded = _loaded_by(SIX_LINES)
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_the_package_and_its_command_line_import_not_even_numpy_before_they_are_used() -> None:
    assert _loaded_by("import madrl, madrl.cli") & (HEAVY | {"numpy"}) == set()


def test_every_public_name_is_there_and_an_unknown_one_is_not() -> None:
    assert set(madrl.__all__) <= set(dir(madrl))
    assert all(getattr(madrl, name) is not None for name in madrl.__all__)
    with pytest.raises(AttributeError, match="module 'madrl' has no attribute 'no_such_name'"):
        madrl.no_such_name  # noqa: B018


FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""Every module of madrl, and its file."""


def _imports(source: str) -> Iterator[str]:
    """What ``source`` imports by absolute names, also inside functions, but for types alone: ``a.b`` of ``import a.b``
    and of ``from a import b``."""
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _graph() -> dict[str, set[str]]:
    """Module of madrl -> the modules of madrl that it imports."""
    graph: dict[str, set[str]] = {}
    for module, path in FILES.items():
        names = set(_imports(path.read_text(encoding="utf-8")))
        graph[module] = {found for name in names for found in (name, name.rpartition(".")[0]) if found in FILES}
        # A name of the root is a name of one of its modules, and no import of the root's own.
        graph[module] -= {"madrl", module}
    return graph


def _part(module: str) -> str:
    """The folder or the module right below madrl."""
    return module.split(".")[1] if "." in module else "__init__"


def test_the_scan_sees_imports_of_every_kind() -> None:
    source = (
        "import ray.util\nfrom verl.utils import x\nfrom . import y\ndef f():\n    import transfer_queue as tq\n"
        "if TYPE_CHECKING:\n    import torch"
    )
    assert set(_imports(source)) == {"ray.util", "verl.utils.x", "transfer_queue"}


def test_no_import_goes_back_up() -> None:
    layer = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    unknown = sorted({_part(module) for module in FILES} - layer.keys())
    assert not unknown, f"give madrl.{unknown} a line in LAYERS"
    wrong = [
        f"{module} imports {imported}"
        for module, names in _graph().items()
        for imported in sorted(names)
        if _part(module) != _part(imported) and layer[_part(imported)] >= layer[_part(module)]
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    TopologicalSorter(_graph()).prepare()  # CycleError names the circle


def test_what_grades_one_kind_of_answer_knows_nothing_of_the_grader() -> None:
    kinds = tuple(f"madrl.grading.{kind}." for kind in ("judges", "languages", "math_answers", "programs"))
    above = {f"madrl.grading.{name}" for name in ("grader", "classifiers", "verifiers", "grade_file", "bench")}
    wrong = [
        f"{module} imports {name}"
        for module, names in _graph().items()
        if module.startswith(kinds)
        for name in names & above
    ]
    assert wrong == []


def test_only_the_trainer_and_the_sampling_engine_import_verl_ray_or_vllm() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in FILES.items()
        if not module.startswith(FRAMEWORK_USERS)
        for name in _imports(path.read_text(encoding="utf-8"))
        if name.partition(".")[0] in FRAMEWORKS
    ]
    assert wrong == []


def test_the_sandbox_never_imports_madrl_and_madrl_never_the_sandbox() -> None:
    def names(folder: Path) -> set[str]:
        sources = (file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
        return {name.partition(".")[0] for source in sources for name in _imports(source)}

    assert "madrl" not in names(ROOT / "sandbox")
    assert "sandbox" not in names(PACKAGE)
