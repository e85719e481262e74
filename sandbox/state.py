"""The state folder. It holds what is built once and kept, and the scratch folder of each running service."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.seccomp import build_filter

SOURCE = Path(__file__).parent


def default_state_folder() -> Path:
    """The folder that is used unless --state-dir names another. The sandboxes' users can reach it, which they could not
    in root's home."""
    if os.geteuid() == 0:
        return Path("/var/cache/madrl-sandbox")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "madrl-sandbox"


def open_state(folder: Path) -> Path:
    """The state folder, made when it is not there. Raises SandboxError when others could write to it."""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid():
            raise SandboxError(f"{folder} belongs to user {status.st_uid}: name another folder with --state-dir")
        folder.chmod(0o755)
    except OSError as error:
        raise SandboxError(f"cannot use {folder} ({error}): name another folder with --state-dir") from error
    return folder.resolve()


def built(state: Path, name: str, depends_on: Sequence[str], build: Callable[[Path], None]) -> Path:
    """The folder that ``build`` has filled for exactly these inputs. It is filled now when it is not there yet.

    It is built under a temporary name, then renamed. Several services may share a state folder. Raises what ``build``
    raises.
    """
    digest = hashlib.sha256("\0".join(depends_on).encode()).hexdigest()[:16]
    folder = state / f"{name}-{digest}"
    with _locked(state):
        if not folder.exists():
            making = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=state))
            try:
                build(making)
                making.chmod(0o755)
                making.rename(folder)
            finally:
                shutil.rmtree(making, ignore_errors=True)
    return folder


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    with (state / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def native_tools(state: Path) -> Path:
    """The folder with guard, enter, runner, runner.so, zygote.py and filter.bpf, compiled for this machine.

    Raises SandboxError when there is no C compiler.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    sources = [*(SOURCE / "native" / name for name in ("guard.c", "enter.c", "runner.c")), SOURCE / "zygote.py"]
    filter_program = build_filter()
    inputs = [*(source.read_text() for source in sources), filter_program.hex()]

    def build(folder: Path) -> None:
        if compiler is None:
            raise SandboxError("no C compiler for the sandbox's own runner: apt-get install gcc libc6-dev")
        guard, enter, runner, zygote = sources
        for command in (
            ("-static", guard, "-o", folder / "guard"),
            ("-static", enter, "-o", folder / "enter"),
            ("-static", runner, "-o", folder / "runner"),
            ("-DZYGOTE", "-shared", "-fPIC", runner, "-o", folder / "runner.so"),
        ):
            done = subprocess.run([compiler, "-O2", *map(str, command)], capture_output=True, text=True)
            if done.returncode:
                raise SandboxError(f"cannot compile the runner: {done.stderr.strip()[-500:]}")
        shutil.copyfile(zygote, folder / "zygote.py")
        (folder / "filter.bpf").write_bytes(filter_program)
        for file in folder.iterdir():
            file.chmod(0o555)

    return built(state, "native", inputs, build)


@contextmanager
def scratch_folder(state: Path) -> Iterator[Path]:
    """A folder for the life of one service, with the artifacts of compiled programs. The folders that killed services
    have left are removed when the next one starts."""
    with _locked(state):
        for left in state.glob("run-*"):
            try:
                with (left / "lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:
                pass
            except OSError:
                continue
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=state))
        folder.chmod(0o755)
        alive = (folder / "lock").open("w")
        fcntl.flock(alive, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        alive.close()
        shutil.rmtree(folder, ignore_errors=True)
