"""The stack that is installed is the stack that is declared."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def locked() -> dict[str, Version]:
    """Package -> version in requirements-cpu.txt."""
    lines = (REPOSITORY / "recipes/requirements-cpu.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normalized(name): Version(version) for name, version in pins}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_locked_cpu_stack_satisfies_every_requirement_of_the_project() -> None:
    pins = locked()
    requirements = [Requirement(r) for r in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cpu"]]
    for requirement in requirements:
        version = pins.get(normalized(requirement.name))
        assert version is not None, f"{requirement.name} is not in recipes/requirements-cpu.txt"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} but {version} is locked"


def test_the_packages_that_break_transformers_on_a_cpu_are_not_in_the_stack() -> None:
    assert not {"torchvision", "torchaudio", "torchcodec"} & locked().keys()


def test_both_stacks_pin_the_same_verl() -> None:
    extras = PROJECT["optional-dependencies"]
    pins = {str(Requirement(r).specifier) for name in ("cpu", "gpu") for r in extras[name] if r.startswith("verl")}
    assert len(pins) == 1
