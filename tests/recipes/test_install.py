"""lib/install.sh: real environments, of a small checkout whose `madrl` only tells what it is."""

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CLI = """
import sys
from madrl import __version__

def main():
    print(__file__, *sys.argv[1:], sys.prefix, file=sys.stderr)

if __name__ == "__main__":
    main()
"""


class Checkout:
    """A checkout that install.sh installs, without an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "recipes" / "lib").mkdir(parents=True)
        (folder / "madrl").mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE", "recipes/lib/install.sh"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "madrl" / "__init__.py").write_text('__version__ = "1"\n')
        (folder / "madrl" / "cli.py").write_text(CLI)
        self.tools = folder.parent / "tools"
        self.tools.mkdir()
        for file in files("setuptools") or []:
            if file.parts[0] != ".." and not (link := self.tools / file.parts[0]).exists():
                link.symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / file.parts[0])

    def install(self, folder: Path | None = None, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Call install.sh of the checkout, or of its copy in ``folder``."""
        return self.call(f"bash {folder or self.folder}/recipes/lib/install.sh", **variables)

    def call(self, script: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a script in which pip asks no index."""
        kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
        offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        environment = kept | offline | {"PYTHONPATH": str(self.tools), "PYTHON": sys.executable} | variables
        return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "madrl")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """One that is installed already, called `madrl`."""
    made = Checkout(tmp_path_factory.mktemp("installed") / "madrl")
    assert made.install(STACK="cpu").returncode == 0
    return made


def test_a_folder_with_files_that_is_no_environment_is_left_alone(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    done = checkout.install(STACK="cpu", VENV=str(tmp_path / "home"))
    assert (done.returncode, done.stderr) == (
        1,
        f"recipes/lib/install.sh: VENV={tmp_path}/home holds files and is no Python environment: name another folder, "
        "or empty it\n",
    )
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.tex"]


@pytest.mark.slow
def test_an_environment_without_pip_keeps_its_files_and_gets_pip(checkout: Checkout, tmp_path: Path) -> None:
    venv.create(tmp_path / "mine", with_pip=False)
    (tmp_path / "mine" / "notes").touch()
    done = checkout.install(STACK="cpu", VENV=str(tmp_path / "mine"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{checkout.folder}/madrl/cli.py install cpu {tmp_path}/mine\n"
    assert (tmp_path / "mine" / "notes").exists()


@pytest.mark.slow
def test_an_environment_whose_making_was_interrupted_is_made_by_the_next_call(checkout: Checkout) -> None:
    environment = checkout.folder / ".venv"
    failed = checkout.install(STACK="cpu", PIP_FIND_LINKS="", PYTHONPATH="")  # no setuptools, after the environment
    assert failed.returncode == 1
    shutil.rmtree(environment / "lib")
    (environment / "thesis.tex").touch()
    done = checkout.install(STACK="cpu")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{checkout.folder}/madrl/cli.py install cpu {environment}\n"
    assert (environment / "thesis.tex").exists(), "it was put there since"


@pytest.mark.slow
def test_a_copied_checkout_runs_its_own_code_and_a_moved_one_runs(installed: Checkout, tmp_path: Path) -> None:
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(installed.folder, copy, symlinks=True)
    for folder in (installed.folder, copy):
        assert installed.install(folder, STACK="cpu").stderr == f"{folder}/madrl/cli.py install cpu {folder}/.venv\n"
    copy.rename(moved)
    assert installed.install(moved, STACK="cpu").stderr == f"{moved}/madrl/cli.py install cpu {moved}/.venv\n"
    pip = installed.call(f"{moved}/.venv/bin/pip --version", PYTHONPATH="")
    assert f" from {moved}/.venv/" in pip.stdout
    assert installed.call(f". {moved}/.venv/bin/activate; which python").stdout == f"{moved}/.venv/bin/python\n"
    spaced = moved.rename(tmp_path / "with space")
    done = installed.call(f"bash '{spaced}/recipes/lib/install.sh'", STACK="cpu")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{spaced}/.venv was made at {moved}/.venv, and cannot be moved to a path with a space: remove it\n"
    )


def test_an_environment_of_one_checkout_is_not_made_another_s(installed: Checkout, tmp_path: Path) -> None:
    """A grid may be starting processes from it."""
    environment = installed.folder / ".venv"
    other = Checkout(tmp_path / "madrl")
    done = other.install(STACK="cpu", VENV=str(environment))
    assert done.returncode == 1
    assert f"VENV={environment} is the environment of {installed.folder}: name another folder, or remove" in done.stderr
    assert installed.install(STACK="cpu").stderr == f"{installed.folder}/madrl/cli.py install cpu {environment}\n"
    place = environment / ".madrl-place"
    place.write_text("")  # as on a full disk
    done = installed.install(STACK="cpu")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{place} is damaged: remove it, if {environment} is this checkout's" in done.stderr
    place.unlink()
    assert installed.install(STACK="cpu").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["madrl", "python -m madrl.cli"])
def test_madrl_is_found_in_the_folder_that_a_checkout_of_its_name_lies_in(installed: Checkout, command: str) -> None:
    folder = installed.folder
    done = installed.call(f"cd {folder.parent}; {folder}/.venv/bin/{command}", PYTHONPATH="")
    assert done.stderr == f"{folder}/madrl/cli.py {folder}/.venv\n"


@pytest.mark.slow
def test_what_one_stack_exports_is_not_the_environment_of_the_other(checkout: Checkout, tmp_path: Path) -> None:
    """As when PROFILE=tiny runs a recipe on CPUs below slurm.sbatch, which has the stack for GPUs."""
    script = f"{checkout.folder}/recipes/lib/install.sh"
    done = checkout.call(
        f"STACK=gpu; . {script}; STACK=cpu bash {script}; bash {script}; STACK=cpu VENV={tmp_path}/third bash {script}"
    )
    assert [line.split()[2:] for line in done.stderr.splitlines()] == [
        ["gpu", f"{checkout.folder}/.venv-gpu"],
        ["cpu", f"{checkout.folder}/.venv"],
        ["gpu", f"{checkout.folder}/.venv-gpu"],
        ["cpu", f"{tmp_path}/third"],
    ]
