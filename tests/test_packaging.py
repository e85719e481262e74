"""The stack that is installed is the stack that is declared, and a wheel needs no checkout."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
LOCK = "madrl/requirements-cpu.txt"
PACKAGES = ("madrl", "sandbox", "data_prep")


def locked() -> dict[str, Version]:
    """Package -> version in the lock."""
    lines = (REPOSITORY / LOCK).read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normalized(name): Version(version) for name, version in pins}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(extra: str) -> Iterator[Requirement]:
    """What an extra asks for, with what the extras of madrl that it names ask for."""
    for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
        if requirement.name != "madrl":
            yield requirement
        for named in sorted(requirement.extras) if requirement.name == "madrl" else ():
            yield from declared(named)


def test_the_locked_cpu_stack_satisfies_every_requirement_of_the_project() -> None:
    pins = locked()
    requirements = [*map(Requirement, PROJECT["dependencies"]), *declared("cpu"), *declared("wandb")]
    assert {"verl", "matplotlib", "math-verify", "tree-sitter", "fastapi"} <= {r.name for r in requirements}
    for requirement in requirements:
        version = pins.get(normalized(requirement.name))
        assert version is not None, f"{requirement.name} is not in {LOCK}"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} is locked"


def test_the_required_verl_is_the_pinned_one() -> None:
    """REQUIRED_VERL.txt, in the form of verl-recipe's, whose installer reads these fields."""
    lines = (REPOSITORY / "REQUIRED_VERL.txt").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    [pinned] = {str(r.specifier) for r in declared("cpu") if r.name == "verl"}
    assert fields["MODE"] == "pinned_tag"
    assert fields["TAG"] == f"v{pinned.removeprefix('==')}"
    assert fields["PIP_INSTALL"] == f"pip install verl{pinned}"


def test_the_packages_that_break_transformers_on_a_cpu_are_not_in_the_stack() -> None:
    assert not {"torchvision", "torchaudio", "torchcodec"} & locked().keys()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built where no earlier build has left files."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "pyproject.toml", "README.md", "LICENSE"):
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, folder / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, folder / "tree")
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(folder / "tree"))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """A folder with the wheel installed."""
    folder = wheel.parent / "site"
    pip("install", "-q", "--no-deps", "--no-compile", "--target", str(folder), str(wheel))
    return folder


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)


def outside(site: Path, folder: Path, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run Python's arguments ``command`` in ``folder``, with the wheel in place of the checkout."""
    environment = os.environ | {"PYTHONPATH": str(site)} | variables
    python = variables.get("PYTHON", sys.executable)
    return subprocess.run([python, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_wheel_has_every_file_of_its_packages(wheel: Path) -> None:
    files = {
        str(path.relative_to(REPOSITORY))
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path != REPOSITORY / "sandbox" / "README.md"
    }
    assert {LOCK, "madrl/py.typed", "data_prep/synthetic_topics.json", "sandbox/install.sh"} <= files
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == files


@pytest.mark.slow
def test_a_wheel_makes_data_and_plans_a_recipe_without_a_checkout(site: Path, tmp_path: Path) -> None:
    made = outside(site, tmp_path, "-m", "data_prep.synthetic", "--local_save_dir", "data", "--form", "closed")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "data" / "train.parquet").exists()

    words = ("synthetic_closed", "peak", "rkl", "profile=tiny")
    done = outside(site, tmp_path, "-m", "madrl.cli", "run", *words, DRY_RUN="1")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    assert str(REPOSITORY) not in done.stdout
    assert config["actor_rollout_ref"]["rollout"]["agent"]["agent_loop_manager_class"].startswith("madrl.")

    where = outside(site, tmp_path, "-c", "import madrl, sandbox, data_prep; print(madrl.__file__)")
    assert where.stdout.startswith(str(site))


class Environment:
    """An empty virtual environment outside the checkout, with an index of stand-ins for packages."""

    def __init__(self, folder: Path, site: Path, with_pip: bool = True) -> None:
        self.folder, self.index = folder / "venv", folder / "index"
        self.index.mkdir()
        venv.create(self.folder, with_pip=with_pip)
        self.python = str(self.folder / "bin" / "python")
        # A copy of the wheel's files, the lock among them.
        self.site = Path(
            shutil.copytree(site, next(self.folder.glob("lib/python3*/site-packages")), dirs_exist_ok=True)
        )

    def offer(self, name: str, version: str, metadata: Sequence[str] = ()) -> None:
        """Put an empty package into the index."""
        self.wheel(self.index, name, version, metadata)

    def wheel(
        self,
        folder: Path,
        name: str,
        version: str,
        metadata: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """Make a wheel with these files."""
        stem = f"{normalized(name).replace('-', '_')}-{version}"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata, ""]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in (files or {}).items():
                archive.writestr(file, text)
            archive.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines))
            archive.writestr(
                f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{stem}.dist-info/RECORD", "")
        return path

    def install(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Call ``madrl install``, which finds no other index than this one."""
        pip_variables = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        variables = {"FLASH_ATTN_WHEEL": "", "FLASH_ATTN_INDEX": "", **pip_variables, **variables}
        command = ("-m", "madrl.cli", "install", *words)
        return outside(self.site, self.folder, *command, PYTHON=self.python, PYTHONPATH="", **variables)

    def log(self) -> str:
        return (self.folder / "install.log").read_text()


@pytest.fixture
def environment(tmp_path: Path, site: Path) -> Environment:
    return Environment(tmp_path, site)


@pytest.mark.slow
def test_the_cpu_stack_is_the_lock_and_an_installation_that_failed_is_finished_by_the_next(
    environment: Environment,
) -> None:
    (environment.site / LOCK).write_text("# Two of them.\nverl==0.9.1\ntorch==2.13.0+cpu\n")
    environment.offer("torch", "2.13.0+cpu", ["Requires-Dist: torchvision"])  # is not resolved
    failed = environment.install("cpu")
    assert failed.returncode == 2
    assert "No matching distribution found for verl==0.9.1" in failed.stderr
    assert failed.stderr.splitlines()[-1].startswith("madrl: error: `pip install --no-deps -r ")

    environment.offer("verl", "0.9.1")
    done = environment.install("cpu")
    assert done.returncode == 0, done.stderr
    assert "Successfully installed verl-0.9.1" in environment.log()
    length = len(environment.log())

    again = environment.install("cpu")
    assert again.stdout == f"the cpu stack is installed in {environment.folder}\n"
    assert len(environment.log()) == length


def offer_gpu_stack(environment: Environment) -> None:
    for requirement in [*map(Requirement, PROJECT["dependencies"]), *declared("gpu")]:
        (version,) = {specifier.version for specifier in requirement.specifier} or {""}
        if requirement.name != "verl":
            environment.offer(requirement.name, version, [f"Provides-Extra: {extra}" for extra in requirement.extras])
    verl = ["Provides-Extra: vllm", "Requires-Dist: torch; extra == 'vllm'", "Provides-Extra: cupy-cu130"]
    verl += ["Provides-Extra: flash", "Requires-Dist: flash-attn==2.8.3; extra == 'flash'"]
    environment.offer("verl", "0.9.1", verl)
    environment.offer("torch", "1.0")


FLASH_ATTN = {"flash_attn/__init__.py": "", "flash_attn/bert_padding.py": ""}
OTHER_TORCH = {"flash_attn/__init__.py": "raise ImportError('flash_attn_2_cuda.so: undefined symbol: _ZN3c104')"}


@pytest.mark.slow
def test_the_gpu_stack_needs_no_flash_attn_and_takes_it_from_the_wheel_or_the_index_that_is_named(
    environment: Environment, tmp_path: Path
) -> None:
    offer_gpu_stack(environment)
    done = environment.install("gpu")
    assert done.returncode == 0, environment.log()
    assert "torch-1.0" in environment.log()
    assert "flash" not in environment.log().replace("flash-linear-attention", "").replace("flash_linear_attention", "")
    (_, without) = done.stdout.splitlines()
    assert without.startswith("flash-attn is not here: runs pad their sequences (use_remove_padding=false")

    wheel = environment.wheel(tmp_path / "other", "flash-attn", "2.8.3", files=OTHER_TORCH)
    done = environment.install("gpu", FLASH_ATTN_WHEEL=str(wheel))
    assert done.returncode == 2
    assert f"flash-attn of {wheel} cannot be imported here (ImportError: flash_attn_2_cuda.so: undefined" in done.stderr
    assert "flash-attn is not here" in environment.install("gpu").stdout, "it is removed again"

    wheel = environment.wheel(tmp_path / "simple" / "flash-attn", "flash-attn", "2.8.3+cu130", files=FLASH_ATTN)
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    done = environment.install("gpu", FLASH_ATTN_INDEX=f"file://{tmp_path}/simple", PIP_NO_INDEX="0")
    assert done.returncode == 0, environment.log()
    assert done.stdout.endswith(f"flash-attn is installed, from file://{tmp_path}/simple\n")
    again = environment.install("gpu", FLASH_ATTN_WHEEL=str(wheel))
    assert again.stdout == f"the gpu stack is installed in {environment.folder}\n"

    subprocess.run([environment.python, "-m", "pip", "uninstall", "-q", "-y", "flash-attn"], check=True)
    done = environment.install("gpu", FLASH_ATTN_WHEEL=str(wheel))
    assert done.stdout.endswith(f"flash-attn is installed, from {wheel}\n")


def test_the_gpu_extra_has_what_verl_s_fsdp_has_but_flash_attn() -> None:
    """PyPI has flash-attn as source only, which needs a CUDA toolkit and an hour."""
    ours = {normalized(requirement.name): str(requirement.specifier) for requirement in declared("gpu")}
    extras = {extra for requirement in declared("gpu") for extra in requirement.extras if requirement.name == "verl"}
    marker = re.compile(r"extra == .fsdp.")
    for theirs in map(Requirement, requires("verl") or []):
        if not marker.search(str(theirs.marker)):
            continue
        if theirs.name == "verl":
            assert theirs.extras <= {"verl-core", "cupy-cu130", "flash-attn-cu130torch211"}, theirs
        elif normalized(theirs.name) not in ("torch", "torchvision", "torchaudio"):  # its extra vllm names them too
            assert ours[normalized(theirs.name)] == str(theirs.specifier)
    assert extras == {"vllm", "cupy-cu130"}
    assert "flash-attn" not in ours


@pytest.mark.slow
def test_an_environment_without_pip_and_a_stack_with_languages_are_told_in_one_line(tmp_path: Path, site: Path) -> None:
    environment = Environment(tmp_path, site, with_pip=False)
    assert "takes no languages: leave python out" in environment.install("cpu", "python").stderr
    done = environment.install("cpu")
    assert done.returncode == 2
    assert done.stderr.startswith(f"madrl: error: {environment.folder} has no pip: ")


@pytest.mark.slow
def test_one_stack_is_not_installed_over_the_other(tmp_path: Path, site: Path) -> None:
    environment = Environment(tmp_path, site, with_pip=False)
    (environment.folder / ".madrl-stack").write_text("gpu 1f2e")
    done = environment.install("cpu")
    assert done.returncode == 2
    assert done.stderr.startswith(f"madrl: error: {environment.folder} has the gpu stack, which the cpu stack would ")
    assert "VENV=DIR" in done.stderr
