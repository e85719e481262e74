"""The part of the machine's files that one language needs to run, which is all that its programs see.

A sandbox finds a folder of ours in place of /usr. It holds copies of the shared libraries that the runtime loads, and
mount points for the files and folders that are the runtime's own. Another language's interpreter, a compiler or a shell
is not there to be started, nor its library to be loaded.
"""

import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.backends import View
from sandbox.errors import ToolchainMissingError
from sandbox.state import built

_LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}

_LIBRARY = re.compile(r"^\t(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)

_LOCALES = Path("/usr/lib/locale")

_LIBRARY_CACHE = Path("/etc/ld.so.cache")

_C_LIBRARY = (
    "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2",
    "libgcc_s.so.1",
)  # fmt: skip
"""The C library's parts. It loads the last by itself, when a thread ends early. Go programs that use the network's
package are linked with some of them. Its loader is there twice: by its fixed path, and beside the other libraries,
where a program that is linked statically looks for it when it loads a character set."""


def runtime_view(
    state: Path, name: str, *own: Path | str, environment: Mapping[str, str] | None = None, extra: Iterable[Path] = ()
) -> View:
    """A view with the files and folders ``own``, the shared libraries that they load, the C library with its locales,
    and nothing else of the system. ``extra`` is shown too, but its libraries are not looked for.

    The copies are kept in the state folder. They are made anew when something of ``own`` changes or the machine's
    libraries do, which is when ldconfig runs. Raises ToolchainMissingError where the C library is not glibc.
    """
    runtime = [path for path in map(Path, own) if path.exists()]
    shown = [path for path in (*runtime, *extra, _LOCALES) if path.exists()]
    mount_points = [path for path in shown if path.is_relative_to("/usr")]

    def fill(folder: Path) -> None:
        (folder / "usr").mkdir()
        for library in _libraries(runtime):
            copy = folder / _in_usr(library)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        for path in mount_points:
            point = folder / path.relative_to("/")
            (point if path.is_dir() else point.parent).mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                point.touch()

    states = [f"{path} {path.stat().st_mtime_ns}" for path in (*runtime, _LIBRARY_CACHE) if path.exists()]
    folder = built(state, f"view-{name}", [Path(__file__).read_text(), *states, *map(str, mount_points)], fill)
    return View(
        binds=tuple((str(path.resolve()), str(path)) for path in shown),
        environment=dict(environment or {}),
        usr=str(folder / "usr"),
    )


def _in_usr(library: Path) -> Path:
    """The library's path below the root, without the links in the root that lead into /usr."""
    path = (library.parent.resolve() / library.name).relative_to("/")
    return path if path.is_relative_to("usr") else "usr" / path


def _libraries(own: Iterable[Path]) -> list[Path]:
    """The C library, and the shared libraries that files and whatever lies in folders load, but for those that lie
    there themselves. They are looked for as a sandbox's loader does, which has no cache to look into. Nothing of theirs
    runs."""
    own = list(own)
    loader = Path(_LOADERS.get(platform.machine(), ""))
    if not loader.is_file():
        raise ToolchainMissingError(f"the sandbox needs glibc's loader, and {loader} is not there")
    objects = [file for path in own for file in (_shared_objects(path) if path.is_dir() else [path.resolve()])]
    found: set[Path] = set()
    for file in objects:
        listed = subprocess.run(
            [loader, "--inhibit-cache", "--list", file], capture_output=True, text=True, errors="replace", timeout=60
        )
        found.update(map(Path, _LIBRARY.findall(listed.stdout)))
    c_library = (loader.resolve().parent / name for name in (*_C_LIBRARY, loader.name))
    found |= {loader, *(path for path in c_library if path.exists())}
    return [library for library in found if not any(library.resolve().is_relative_to(path.resolve()) for path in own)]


def _shared_objects(folder: Path) -> list[Path]:
    """The ELF files of a folder: they are executables too, such as a JDK's."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sorted(file for file in files if (".so" in file.name or file.stat().st_mode & 0o100) and _is_elf(file))


def _is_elf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"
