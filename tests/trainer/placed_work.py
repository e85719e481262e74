"""Work for a node of a cluster. Ray finds it by the name of this module, which therefore imports next to nothing."""

import os

from madrl.errors import MadrlError


def seen(name: str) -> tuple[str | None, int]:
    return os.environ.get(name), os.getpid()


def refuse(reason: str) -> None:
    raise MadrlError(reason)
