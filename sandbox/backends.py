"""The isolation backends: how a command is wrapped so that it sees a machine with nothing on it.

Each is a function from a Jail and a command to an argument vector. Under both the program runs as the slot's private
user, never as root, and the runner adds the system-call filter and the resource limits itself.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import SandboxError

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/libexec", "/usr/bin")
"""Folders that a sandbox sees, read-only, unless its view has its own ``usr``. /usr/local, /opt, /srv and /home are
hidden: what the machine's owner puts there must stay unseen."""

TMP_MB = 256
SHM_MB = 64

CLEAN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}


@dataclass(frozen=True)
class View:
    """The folders and the environment that a program finds in its sandbox."""

    binds: tuple[tuple[str, str], ...] = ()
    """(path on the host, path inside), read-only."""
    environment: dict[str, str] = field(default_factory=dict)
    usr: str | None = None
    """The folder on the host that stands in place of /usr (runtime_view.py). None: SYSTEM is seen."""


@dataclass(frozen=True)
class Jail:
    """The place in which a command runs, and the user that it runs as."""

    view: View
    enter: str
    """Path of the program that native/enter.c compiles to."""
    uid: int
    """User that the command runs as. 0 stands for the service's own user, which is then not root."""
    nice: int
    procs_files: Sequence[str] = ()

    def entering(self, uid: int, procs_files: Sequence[str]) -> list[str]:
        """The start of an argument vector: join cgroups, become a user, go on."""
        return [self.enter, str(uid), str(uid), str(self.nice), *procs_files, "--"]


def bubblewrap(jail: Jail, command: Sequence[str]) -> list[str]:
    """Run the command without capabilities, in namespaces of its own for users, mounts, processes, network, IPC, host
    name and cgroups."""
    argv = jail.entering(jail.uid, jail.procs_files)
    argv += [
        _tool("bwrap", "bubblewrap"),
        "--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
        "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "box", "--clearenv",
    ]  # fmt: skip
    for name, value in {**CLEAN_ENVIRONMENT, **jail.view.environment}.items():
        argv += ["--setenv", name, value]
    usr = jail.view.usr
    system = [(path, path) for path in SYSTEM if Path(path).is_dir()] if usr is None else [(usr, "/usr")]
    for source, inside in [*system, *jail.view.binds]:
        argv += ["--ro-bind", source, inside]
    for link in ("bin", "lib", "lib64", "lib32"):
        if Path(usr or "/usr", link).is_dir():
            argv += ["--symlink", f"usr/{link}", f"/{link}"]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += ["--size", str(TMP_MB << 20), "--perms", "1777", "--tmpfs", "/tmp"]
    argv += ["--size", str(SHM_MB << 20), "--perms", "1777", "--tmpfs", "/dev/shm"]
    return [*argv, *_read_only("/proc", "/dev/pts", "/dev", "/"), "--chdir", "/tmp", "--", *command]


def _read_only(*mounts: str) -> list[str]:
    """Options that make the mounts read-only. /proc is among them: below it a program could leave notes for its next
    test, or set the limits of its namespaces."""
    return [part for mount in mounts for part in ("--remount-ro", mount)]


HIDDEN = ("/root", "/home", "/srv", "/opt", "/mnt", "/media", "/boot", "/sys", "/usr/src")


def firejail(jail: Jail, command: Sequence[str]) -> list[str]:
    """Run the command under firejail, for machines on which bubblewrap cannot work.

    It is weaker. The program sees the host's files, read-only, but for those that are hidden here. There is no user
    namespace. The runner is not process 1, so that a program can kill it, and is then judged to have crashed. It needs
    root, or a user whom firejail's own configuration allows.
    """
    hidden = [*HIDDEN, str(Path(__file__).parents[1]), sys.prefix]
    kept = [source for source, _ in jail.view.binds]
    argv = [
        *jail.entering(0, jail.procs_files),
        _tool("firejail", "firejail"),
        "--quiet", "--noprofile", "--keep-fd=all", "--net=none", "--ipc-namespace", "--nonewprivs", "--private-dev",
        "--private-tmp", "--private-cwd=/tmp", "--read-only=/", "--read-write=/tmp", "--read-write=/dev/shm",
        "--caps.keep=setuid,setgid" if os.geteuid() == 0 else "--caps.drop=all",
    ]  # fmt: skip
    for folder in hidden:
        if not any(Path(path).is_relative_to(folder) for path in kept):
            argv.append(f"--blacklist={folder}")
    environment = {**CLEAN_ENVIRONMENT, **jail.view.environment}
    clean = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in environment.items())]
    return [*argv, "--", *clean, *jail.entering(jail.uid, ()), *located("firejail", jail.view, command)]


def located(backend: str, view: View, command: Sequence[str]) -> list[str]:
    """A command with the paths that its files have inside. Without binds these are the host's."""
    if backend != "firejail":
        return list(command)
    real = {inside: source for source, inside in view.binds}
    insides = "|".join(re.escape(inside) for inside in sorted(real, key=len, reverse=True))
    return [re.sub(rf"(?:{insides})(?=[/\s]|$)", lambda found: real[found[0]], part) for part in command]


BACKENDS: dict[str, Callable[[Jail, Sequence[str]], list[str]]] = {"bubblewrap": bubblewrap, "firejail": firejail}


def _tool(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SandboxError(f"{name} is not installed: apt-get install {package}")
    return path
