"""``madrl install``: the packages that training needs, into the environment that ``madrl`` itself runs in.

It runs on Python's standard library alone, since it may be the first command in an environment that has nothing else.
A stack that is installed already is left alone, and an installation that was interrupted is finished by the next call.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

from madrl import __version__
from madrl.errors import MadrlError

LOCK = Path(__file__).with_name("requirements-cpu.txt")
"""The closure of the CPU's stack, which is installed as it stands."""

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where PyTorch's builds for CPUs are, which PyPI does not have."""

STAMP = Path(sys.prefix, ".madrl-stack")
"""It says which stack is installed: its name, and the hash of what was asked for."""

FLASH_ATTN = "flash_attn.bert_padding"
"""The module of flash-attn that veRL imports."""

WITHOUT_FLASH_ATTN = (
    "flash-attn is not here: runs pad their sequences (use_remove_padding=false, attn_implementation=sdpa), which "
    "gives the same loss and costs time and memory for the padding; FLASH_ATTN_WHEEL=FILE madrl install gpu installs it"
)
"""What a run without flash-attn costs, in one line."""

LOG_LINES = 20
"""The lines of the log that are shown when a step fails."""


def install(stack: str) -> None:
    """Install ``stack``, a key of STACKS; a line says what is done. With ``gpu`` comes flash-attn, from the wheel that
    FLASH_ATTN_WHEEL names or from the index in FLASH_ATTN_INDEX; without both, a line says what runs do without it.

    What pip says goes to ``install.log`` in the environment, whose end is shown when a step fails. Raises MadrlError
    for such a failure, and in an environment without pip or with the other stack.
    """
    environment = Path(sys.prefix)
    wanted = _fingerprint(stack)
    if (there := installed_stack()) not in ("", stack):
        raise MadrlError(
            f"{environment} has the {there} stack, which the {stack} stack would replace in part: install that into an "
            "environment of its own (recipes/lib/install.sh: leave VENV unset, or VENV=DIR)"
        )
    if STAMP.exists() and STAMP.read_text(encoding="utf-8") == wanted:
        print(f"the {stack} stack is installed in {environment}")
    else:
        if find_spec("pip") is None:
            raise MadrlError(f"{environment} has no pip: call `{sys.executable} -m ensurepip`, then this again")
        print(f"installing the {stack} stack into {environment} (log: {environment}/install.log)", flush=True)
        STAMP.unlink(missing_ok=True)
        STACKS[stack](environment)
        STAMP.write_text(wanted, encoding="utf-8")
    if stack == "gpu":
        _flash_attn(environment)


def installed_stack() -> str:
    """The key of STACKS that is installed in this environment; empty for neither."""
    return STAMP.read_text(encoding="utf-8").partition(" ")[0] if STAMP.exists() else ""


def install_compilers(languages: Sequence[str]) -> None:
    """Install what the sandbox needs for programs in ``languages`` (none: the usual ones) from Debian's packages.

    Raises MadrlError when that fails; the script has then said why.
    """
    script = Path(__file__).parents[1] / "sandbox" / "install.sh"
    environment = {**os.environ, "PYTHON": sys.executable}
    if subprocess.run(["bash", str(script), *languages], check=False, env=environment).returncode:
        raise MadrlError("the sandbox's compilers were not installed: see above")


def _install_cpu(environment: Path) -> None:
    # The lock is a closure, so nothing is resolved: the resolver would add CUDA builds of torchvision and torchaudio,
    # with which transformers cannot be imported beside a CPU build of torch.
    torch = next(line for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith("torch=="))
    if not _pip(environment, "--no-deps", torch):
        _checked_pip(environment, "--no-deps", "--index-url", CPU_INDEX, torch)
    _checked_pip(environment, "--no-deps", "-r", str(LOCK))


def _install_gpu(environment: Path) -> None:
    # This madrl is installed, so that pip takes only the requirements of its extra from an index.
    _checked_pip(environment, f"madrl[gpu]=={__version__}")


def _flash_attn(environment: Path) -> None:
    """Install flash-attn from a wheel, if one is named and none is here. Raises MadrlError when that fails, and when
    the wheel is for another torch, CUDA or Python: then it is removed again."""
    wheel, index = os.environ.get("FLASH_ATTN_WHEEL"), os.environ.get("FLASH_ATTN_INDEX")
    if _import_trouble(FLASH_ATTN) is None:
        return
    if not wheel and not index:
        print(WITHOUT_FLASH_ATTN)
        return
    if wheel:
        _checked_pip(environment, "--no-deps", "--force-reinstall", wheel)
    else:
        pinned = next(name for name in requires("verl") or [] if name.startswith("flash-attn==")).partition(";")[0]
        _checked_pip(environment, "--no-deps", "--only-binary=:all:", "--index-url", str(index), pinned.strip())
    if trouble := _import_trouble(FLASH_ATTN):
        subprocess.run([sys.executable, "-m", "pip", "uninstall", "-q", "-y", "flash-attn"], check=False)
        raise MadrlError(
            f"flash-attn of {wheel or index} cannot be imported here ({trouble}): it was built for another torch, CUDA "
            "or Python; name another wheel, or none"
        )
    print(f"flash-attn is installed, from {wheel or index}")


def _import_trouble(module: str) -> str | None:
    """The last line that Python says when it cannot import ``module`` in this environment; None when it can."""
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def _pip(environment: Path, *arguments: str) -> bool:
    """Whether ``pip install`` succeeded; what it said is in the log."""
    with (environment / "install.log").open("ab") as log:
        command = [sys.executable, "-m", "pip", "install", *arguments]
        return subprocess.run(command, stdout=log, stderr=log, check=False).returncode == 0


def _checked_pip(environment: Path, *arguments: str) -> None:
    if not _pip(environment, *arguments):
        log = environment / "install.log"
        print(*log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:], sep="\n", file=sys.stderr)
        raise MadrlError(f"`pip install {' '.join(arguments)}` failed: see {log}, then call this again")


def _fingerprint(stack: str) -> str:
    """What is asked for with ``stack``, which an environment's stamp is compared with."""
    asked = LOCK.read_text(encoding="utf-8") if stack == "cpu" else "\n".join(requires("madrl") or [])
    return f"{stack} {hashlib.sha256(asked.encode()).hexdigest()}"


STACKS: dict[str, Callable[[Path], None]] = {"cpu": _install_cpu, "gpu": _install_gpu}
"""How each stack comes into an environment."""
