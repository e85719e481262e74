"""The tasks, as data: what each one's categories are, who grades it, and how large its runs are.

TASKS has those of the paper. A task of the user's own is a YAML file with the same fields, which ``load_task`` reads.
"""

import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError, check_texts

LANGUAGE_NAMES = {"en": "English", "zh": "Chinese", "es": "Spanish", "hi": "Hindi", "fr": "French"}
"""The natural languages that the classifier ``language`` tells apart, with their names in a prompt."""

PROGRAMMING_LANGUAGE_NAMES = {
    "python": "Python", "cpp": "C++", "java": "Java", "go": "Go", "javascript": "JavaScript",
}  # fmt: skip
"""The languages that the classifier ``programming_language`` tells apart, with their names in a prompt."""

LANGUAGES = tuple(LANGUAGE_NAMES)
PROGRAMMING_LANGUAGES = tuple(PROGRAMMING_LANGUAGE_NAMES)

CPU_PROFILES = ("small", "tiny")
PROFILES = ("gpu", *CPU_PROFILES)


def check_profile(profile: str) -> None:
    """Raises MadrlError for a profile that does not exist."""
    if profile not in PROFILES:
        raise MadrlError(f"PROFILE={profile!r} does not exist: use one of {', '.join(PROFILES)}")


Sizes = Mapping[str, Mapping[str, float]]
"""Profile -> how long and how wide a run is.

Every profile has ``prompt_tokens``, ``response_tokens``, ``prompts_per_step``, ``group_size`` (responses to a prompt in
training), ``steps`` and ``samples`` (responses to a prompt in validation and holdout). ``gpu`` has ``validate_every``
beside, in steps, and ``small`` and ``tiny`` have ``lr``.
"""

DEFAULT_SIZES: Sizes = {
    "gpu": {
        "prompt_tokens": 512, "response_tokens": 1024, "prompts_per_step": 32, "group_size": 16, "steps": 1200,
        "validate_every": 100, "samples": 4,
    },
    "small": {
        "prompt_tokens": 64, "response_tokens": 32, "prompts_per_step": 4, "group_size": 16, "steps": 40, "lr": 1.0e-5,
        "samples": 16,
    },
    "tiny": {
        "prompt_tokens": 96, "response_tokens": 64, "prompts_per_step": 8, "group_size": 16, "steps": 60, "lr": 1.0e-3,
        "samples": 8,
    },
}  # fmt: skip
"""The sizes of a task that names no others."""


def _sizes(**own: Mapping[str, float]) -> Sizes:
    """DEFAULT_SIZES with a task's own in their place, by profile."""
    return {profile: {**sizes, **own.get(profile, {})} for profile, sizes in DEFAULT_SIZES.items()}


@dataclass(frozen=True)
class Task:
    """One task. Fields that a task file may set are described as they stand there."""

    name: str
    """In the names of run folders. A task file's own name without ``.yaml``, unless it sets another."""
    categories: tuple[str, ...]
    """The declared categories, in the order that targets use: ``peak`` excludes the first two."""
    classifier: str
    """A key of CLASSIFIERS, or ``pkg.module:name``."""
    verifier: str
    """A key of VERIFIERS, or ``pkg.module:name``."""
    classifier_args: Mapping[str, Any] = field(default_factory=dict)
    """The classifier's keyword arguments."""
    verifier_args: Mapping[str, Any] = field(default_factory=dict)
    """The verifier's."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes beside these categories, by name (``madrl.attributes``)."""
    naming: str | None = None
    """How a prompt asks for a category: a key of NAMINGS, or ``pkg.module:name``. A task without one has no warm start,
    which asks for every category."""
    data: Path | None = None
    """The folder of the user's own parquet files, in veRL's columns: ``train``, ``selection`` (for a warm start),
    ``validation`` and ``holdout``. None for the paper's tasks, whose ``data_script`` makes them."""
    miniature: Mapping[str, Any] | None = None
    """What the task's miniature model is finetuned on, and its sizes (``madrl.miniature.tasks``): a file ``examples``
    of JSON lines with ``prompt`` (text, or the turns before the response), ``response`` and, for a mix of categories,
    ``category``. The paper's tasks make their examples themselves."""
    sizes: Sizes = field(default_factory=lambda: DEFAULT_SIZES)
    config: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the run's config that the task presets, nested as there."""
    warm_start: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the node ``warm_start`` in the warm start's config that the task presets."""
    label: str = ""
    """What the paper calls the task; a task file has none, and is called by its name."""
    instruction: str = ""
    """Ends every prompt of the paper's tasks that have problems."""
    data_script: tuple[str, ...] = ()
    """The module of data_prep that makes the data, and its arguments."""
    miniature_script: tuple[str, ...] = ()
    """The same for the miniature's problems; empty where the miniature takes the real ones."""
    warm_started: tuple[str, ...] = ("gpu", "small")
    """The profiles in which its runs start from its warm start, if it has one and no model is named; in a task file
    these two, or one, or none."""
    not_small: str = ""
    """Why the small profile cannot run it; empty where it can."""
    is_synthetic: bool = False
    """Whether it is one of the paper's choice tasks, in which every listed option is correct."""
    file: Path | None = None
    """The task file; None for the paper's tasks."""

    @property
    def spec(self) -> str:
        """What names the task on a command line: its name, or the absolute path of its file."""
        return self.name if self.file is None else str(self.file)

    @property
    def plugins(self) -> dict[str, str]:
        """The key of the run's config that names a plug-in -> the plug-in, empty where there is none."""
        found = {f"madrl.{name}": getattr(self, name) or "" for name in ("classifier", "verifier", "naming")}
        for name, attribute in self.attributes.items():
            if isinstance(attribute, Mapping):
                found[f"madrl.attributes.{name}.classifier"] = str(attribute.get("classifier") or "")
        return found

    @property
    def has_warm_start(self) -> bool:
        """Whether a warm start can be made, which asks for every category by name."""
        return self.naming is not None

    @property
    def runs_programs(self) -> bool:
        """Whether its verifier runs programs, which takes a sandbox."""
        return self.verifier == "code"

    def prompt(self, problem: str) -> str:
        """The prompt of one problem: its text, then the instruction. It names no category to answer in."""
        return f"{problem.strip()}\n\n{self.instruction}"


_MATH_INSTRUCTION = "Think step by step, and put the final answer in \\boxed{}."

# Asks for the tag and leaves the language open: an untagged block is harder to classify, and to run.
_CODE_INSTRUCTION = (
    "Think step by step, and write a complete program that reads its input from standard input and writes its answer "
    "to standard output. Give the whole program in a single fenced code block that is tagged with its language."
)


def _synthetic(form: str, label: str) -> Task:
    """A choice task: name one of five options. The category is the alphabetical rank of the chosen one. Every listed
    option is right, so the divergence reward acts alone (additive with alpha 0)."""
    return Task(
        f"synthetic_{form}",
        tuple(f"rank_{rank}" for rank in range(1, 6)),
        "choice",
        "listed_option",
        naming="option",
        # The paper trains this task from the base model, which names an option. A small one does not.
        warm_started=("small",),
        label=label,
        is_synthetic=True,
        data_script=("synthetic", "--form", form),
        config={
            "madrl": {"reward": {"alpha": 0.0}},
            # Prompts of the training topics, for before and after, beside the topics that are never trained on.
            "data": {"val_files": ["${paths.data}/train_probe.parquet", "${paths.data}/validation.parquet"]},
        },
        sizes=_sizes(
            # The paper's table is a mean of single prompts' JSDs at 32 responses each: at 4, its floor is ten times as
            # high.
            gpu={"response_tokens": 256, "prompts_per_step": 16, "group_size": 32, "steps": 6000,
                 "validate_every": 500, "samples": 32},
            # At a learning rate of 1e-5 a tenth of the answers still named no option after 30 steps.
            small={"prompt_tokens": 96, "response_tokens": 12, "samples": 32, "steps": 60, "lr": 3.0e-5},
            # 8 topics a step in groups of 32, which cost the same, end two to four times as far from the target.
            tiny={"response_tokens": 12, "prompts_per_step": 16, "steps": 80, "lr": 1.5e-3},
        ),
    )  # fmt: skip


def _problems(name: str, label: str, script: str, gpu: Mapping[str, float], tiny: Mapping[str, float]) -> Task:
    """GSM8K or MATH. The category is the natural language of the solution; the peaked target excludes English and
    Chinese. On GPUs a solution takes 2.5 times as many tokens per character in Hindi as in English."""
    return Task(
        name,
        LANGUAGES,
        "language",
        "math",
        naming="language",
        label=label,
        instruction=_MATH_INSTRUCTION,
        data_script=(script,),
        miniature_script=("miniature", "--task", name),
        not_small=f"a model of 135 million parameters solves next to nothing of {label}",
        sizes=_sizes(gpu=gpu, tiny={"prompt_tokens": 64, "response_tokens": 80, "lr": 5.0e-4, **tiny}),
    )


_CODE_CONTESTS = Task(
    # The category is the programming language of the solution; the peaked target excludes Python and C++.
    "code_contests",
    PROGRAMMING_LANGUAGES,
    "programming_language",
    "code",
    naming="programming_language",
    label="CodeContests",
    instruction=_CODE_INSTRUCTION,
    data_script=("code_contests",),
    miniature_script=("miniature", "--task", "code_contests"),
    not_small="a model of 135 million parameters writes no program that passes CodeContests' tests",
    sizes=_sizes(
        gpu={"prompt_tokens": 2048, "response_tokens": 4096},  # a statement takes 300 to 1500
        # 64 programs of 4 tests a step: on two cores their JVMs are most of a step.
        tiny={"prompt_tokens": 80, "response_tokens": 96, "prompts_per_step": 4, "steps": 40, "samples": 24},
    ),
)

TASKS = {
    task.name: task
    for task in (
        # English solutions take 150 to 400 tokens in GSM8K, and 400 to 1500 in MATH.
        _problems("gsm8k", "GSM8K", "gsm8k", {"response_tokens": 1536}, {"steps": 40}),
        _problems("math", "MATH", "hendrycks_math", {"prompt_tokens": 1024, "response_tokens": 4096}, {"steps": 60}),
        _CODE_CONTESTS,
        _synthetic("closed", "SYNTHETIC, options shown"),
        _synthetic("open", "SYNTHETIC, options inferred"),
    )
}
"""The paper's tasks, in the order of its tables."""

OWN_FIELDS = (
    "name", "categories", "classifier", "classifier_args", "verifier", "verifier_args", "attributes", "naming", "data",
    "miniature", "sizes", "warm_started", "warm_start", "config",
)  # fmt: skip
"""What a task file may set."""


def load_task(spec: str) -> Task:
    """The task that ``spec`` names: a key of TASKS, or the path of a task file, which ends in ``.yaml``.

    Modules beside a task file can be imported from then on, here and in every process that is started from here. Raises
    MadrlError for what is neither, for a field that is missing, unknown or no good, and for a module beside the file
    that would stand in for one of Python's own.
    """
    if spec in TASKS:
        return TASKS[spec]
    if not spec.endswith((".yaml", ".yml")):
        raise MadrlError(f"there is no task {spec!r}: use one of {', '.join(TASKS)}, or the YAML file of your own")
    path = Path(spec).expanduser().resolve()
    task = task_of(_read(path), path)
    packages = [init.parent for init in path.parent.glob("*/__init__.py")]
    for own in sorted([*path.parent.glob("*.py"), *packages]):
        if own.stem in sys.stdlib_module_names:
            raise MadrlError(f"{own} would stand in for Python's own module {own.stem!r}: rename it")
    for plugin in task.plugins.values():
        module = plugin.partition(":")[0].partition(".")[0] if ":" in plugin else ""
        beside = {f"{module}.py", module} & {found.name for found in path.parent.iterdir()}
        if beside and _modules.setdefault(module, path.parent) != path.parent:
            raise MadrlError(f"{path}: {_modules[module]} has a module {module!r} as well: rename one of the two")
    make_importable(path.parent, first=True)
    return task


_modules: dict[str, Path] = {}
"""Module beside a task file that was loaded -> its folder."""


def task_of(content: Any, file: Path) -> Task:
    """The task that the ``content`` of a task file describes; paths in it are relative to the ``file``'s folder."""
    if not isinstance(content, dict):
        raise MadrlError(f"{file} is no task: it needs the fields {', '.join(OWN_FIELDS)}")
    if unknown := [name for name in content if name not in OWN_FIELDS]:
        raise MadrlError(f"{file}: unknown field {unknown[0]!r}: a task has {', '.join(OWN_FIELDS)}")
    required = {f.name for f in fields(Task) if f.default is MISSING and f.default_factory is MISSING} - {"name"}
    for name in (name for name in OWN_FIELDS if name in {*required, "data"}):
        if not content.get(name):
            raise MadrlError(f"{file}: field {name!r} is not set")
    mappings = ("classifier_args", "verifier_args", "attributes", "miniature", "sizes", "warm_start", "config")
    kinds = {"categories": list, "warm_started": list, **dict.fromkeys(mappings, dict)}
    for name, value in content.items():
        kind = kinds.get(name, str)
        if value is not None and not isinstance(value, kind):
            words = {list: "a list", dict: "a mapping", str: "a text"}[kind]
            raise MadrlError(f"{file}: field {name!r} is {value!r}, not {words}")
    own = {name: value for name, value in content.items() if value is not None}
    own["name"] = own.get("name", file.stem)
    if own["name"] in TASKS or not own["name"].replace("_", "a").replace("-", "a").isalnum():
        raise MadrlError(
            f"{file}: name {own['name']!r} is taken, or has other characters than letters, digits, - and _"
        )
    check_texts(f"{file}: category", own["categories"])
    own["categories"] = tuple(own["categories"])
    if "warm_started" in own:
        if unknown := [name for name in own["warm_started"] if name not in Task.warm_started]:
            raise MadrlError(f"{file}: warm_started names {unknown[0]!r}: it takes {', '.join(Task.warm_started)}")
        own["warm_started"] = tuple(own["warm_started"])
    own["data"] = file.parent / Path(own["data"]).expanduser()
    own["sizes"] = _sizes_of(own.get("sizes", {}), file)
    own["config"] = _with_paths(own.get("config", {}), file)
    return Task(**own, file=file)


PATH_KEYS = ("data.train_files", "data.val_files", "reward.custom_reward_function.path")
"""Keys of the run's config that name files: in a task file's ``config`` relative to its folder, as its ``data``."""


def _with_paths(config: Mapping[str, Any], file: Path, above: str = "") -> dict[str, Any]:
    """The node ``above`` of a task file's ``config``, the paths in it made those from the ``file``'s folder."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{above}{name}"
        if value is None and not above:
            raise MadrlError(f"{file}: config.{name} is empty: write keys below it, or leave it out")
        if isinstance(value, dict):
            found[name] = _with_paths(value, file, f"{key}.")
        elif key in PATH_KEYS:
            found[name] = [_beside(one, file) for one in value] if isinstance(value, list) else _beside(value, file)
        else:
            found[name] = value
    return found


def _beside(path: Any, file: Path) -> Any:
    """A relative ``path`` as one from the ``file``'s folder; all else, such as a URL or ``${paths.data}/...``, as it
    is."""
    if not isinstance(path, str) or not path or "://" in path or path.startswith("${"):
        return path
    return str(file.parent / Path(path).expanduser())


def _sizes_of(content: Mapping[str, Any], file: Path) -> Sizes:
    """DEFAULT_SIZES with those of a task file in their place."""
    for profile, sizes in content.items():
        if profile not in PROFILES or not isinstance(sizes, dict):
            raise MadrlError(f"{file}: sizes.{profile}={sizes!r}: write a mapping for each of {', '.join(PROFILES)}")
        if unknown := [name for name in sizes if name not in DEFAULT_SIZES[profile]]:
            raise MadrlError(
                f"{file}: unknown size {profile}.{unknown[0]}: there are {', '.join(DEFAULT_SIZES[profile])}"
            )
    return _sizes(
        **{
            profile: {name: checked_size(f"{file}: sizes.{profile}", name, value) for name, value in sizes.items()}
            for profile, sizes in content.items()
        }
    )


def checked_size(where: str, name: str, value: object) -> float:
    """The size ``name`` of a run or a miniature as a task file writes it: but for ``lr`` a whole number, which 1e4 is.
    Raises MadrlError, which says ``where``, for what is none above 0."""
    whole = name != "lr"
    number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else value
    if not 0 < number < math.inf or (whole and number % 1):
        raise MadrlError(f"{where}.{name}={value!r} is not a {'whole ' * whole}number above 0")
    return int(number) if whole else number


EXPONENT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$")


def _read(path: Path) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML 1.2's numbers, as in Hydra's config files and on its command line: 1e-5 is one, without a point. And
        its keys: none stands twice in a mapping, of which PyYAML would keep the last."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node, found = super().compose_mapping_node(anchor), set()
            for key, _ in node.value:
                if (name := (key.tag, str(key.value))) in found:
                    where = f"{path}, line {key.start_mark.line + 1}"
                    raise MadrlError(f"{where}: {key.value!r} is set for the second time: remove one of the two")
                found.add(name)
            return node

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MadrlError(f"{path}: no task file can be read here ({' '.join(str(error).split())})") from error


def make_importable(folder: Path, first: bool = False) -> None:
    """Let a user's ``pkg.module:name`` lie in ``folder``, for this process and those that it starts; ``first``, and
    before all other folders."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    for places in (paths, sys.path):
        if first or str(folder) not in places:
            places.insert(0 if first else len(places), str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
