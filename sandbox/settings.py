"""The service's settings, as its command line gives them."""

import argparse
import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sandbox.backends import BACKENDS


class Protection(StrEnum):
    """How well a machine lets us hold a program, weakest first."""

    WEAK = "weak"
    """firejail without a private user namespace, where the runner is not process 1."""
    PORTABLE = "portable"
    """bubblewrap, system-call filter and rlimits. The runner looks at the memory every 5 ms in place of a cgroup."""
    FULL = "full"
    """bubblewrap, system-call filter, memory and process cgroups."""

    def at_least(self, other: "Protection") -> bool:
        """Whether this level gives what ``other`` gives."""
        order = list(Protection)
        return order.index(self) >= order.index(other)


def _option(default: Any, help: str | None = None, **how: Any) -> Any:
    """A setting with its default, and how its option on the command line is declared."""
    return field(default=default, metadata={"type": type(default), "help": help, **how})


def _switch(default: bool, help: str) -> Any:
    return field(default=default, metadata={"action": argparse.BooleanOptionalAction, "help": help})


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of one service. Each is an option of the command line."""

    host: str = _option("127.0.0.1", "address to listen on; any but a loopback address needs --token-file")
    port: int = _option(8080)
    token_file: Path | None = field(
        default=None, metadata={"type": Path, "help": "a file with the token that clients must send (Bearer)"}
    )
    slots: int = _option(len(os.sched_getaffinity(0)), "programs that run at the same time")
    queue_size: int = _option(1024, "requests that may wait for a slot")
    backend: str = _option("bubblewrap", choices=sorted(BACKENDS))
    require: Protection = field(
        default=Protection.PORTABLE,
        metadata={"type": Protection, "choices": list(Protection), "help": "refuse to start below this protection"},
    )
    cgroups: bool = _switch(True, "without them the portable fallback is used even where they work")
    cpu_weight: int = _option(
        10,
        "CPU weight of programs, 1 to 10000, where 100 is any other process's: 10 lets a trainer on the same machine"
        " come first, 100 suits a machine of its own (without cgroups below 100 is nice 10)",
    )
    java_loop: bool = _switch(
        False,
        "take all tests of a Java program in one JVM for as long as they are accepted: many times faster, and more"
        " lenient on time, as that JVM is warm",
    )
    state_dir: Path | None = field(default=None, metadata={"type": Path, "help": "kept between runs"})
    cache_mb: int = _option(2048, "disk space for compiled programs")
    max_body_mb: int = _option(256, "largest request")
    budget_mb: int = _option(1024, "bytes of all requests that have no answer yet")
    drain_s: float = _option(60.0, "after SIGTERM, time for running requests")
