"""The isolation backends: how a command is wrapped so that it sees a machine with nothing on it.

Each is a function from a View to an argument vector. Both run as the slot's private user, never as root. The runner
adds the system-call filter and the resource limits itself, so those hold under either.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import SandboxError

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/libexec", "/usr/bin")
"""Shown read-only to every program. Not /usr/local, /opt, /srv, /home: what its owner puts there is unseen."""

TMP_MB = 256
SHM_MB = 64


@dataclass(frozen=True)
class View:
    """What the inside of a sandbox looks like."""

    binds: tuple[tuple[str, str], ...] = ()
    """(path on the host, path inside), read-only."""
    environment: dict[str, str] = field(default_factory=dict)

    def all_binds(self) -> list[tuple[str, str]]:
        """The system's folders and this view's own."""
        return [(path, path) for path in SYSTEM if Path(path).is_dir()] + list(self.binds)


CLEAN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}


def bubblewrap(view: View) -> list[str]:
    """Namespaces of its own for users, mounts, processes, network, IPC, host name and cgroups; no capabilities."""
    argv = [
        _tool("bwrap", "bubblewrap"),
        "--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
        "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "box", "--clearenv",
    ]  # fmt: skip
    for name, value in {**CLEAN_ENVIRONMENT, **view.environment}.items():
        argv += ["--setenv", name, value]
    for source, inside in view.all_binds():
        argv += ["--ro-bind", source, inside]
    for link in ("bin", "lib", "lib64", "lib32"):
        if Path("/usr", link).is_dir():
            argv += ["--symlink", f"usr/{link}", f"/{link}"]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += ["--size", str(TMP_MB << 20), "--perms", "1777", "--tmpfs", "/tmp"]
    argv += ["--size", str(SHM_MB << 20), "--perms", "1777", "--tmpfs", "/dev/shm"]
    return [*argv, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]


BACKENDS: dict[str, Callable[[View], list[str]]] = {"bubblewrap": bubblewrap}


def _tool(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SandboxError(f"{name} is not installed: apt-get install {package}")
    return path
