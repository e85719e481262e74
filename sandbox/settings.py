"""The service's settings, as its command line gives them."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


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


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of one service."""

    host: str = "127.0.0.1"
    port: int = 8080
    slots: int = len(os.sched_getaffinity(0))
    queue_size: int = 1024
    backend: str = "bubblewrap"
    require: Protection = Protection.PORTABLE
    state_dir: Path | None = None
    cgroups: bool = True
    java_loop: bool = False
    """Whether one JVM takes all tests of a Java program for as long as they are accepted (native/Loop.java)."""
    cache_mb: int = 2048
    drain_s: float = 60.0
    max_body_mb: int = 256
