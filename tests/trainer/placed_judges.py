"""A Ray cluster of two nodes on this machine, and the sandboxes that ``madrl judges`` places there."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from madrl.grading.programs import fleet, program
from madrl.process import COMMON_ENVIRONMENT
from madrl.run import judges

FAR = 900.0
"""Seconds after which a test gives up waiting for what it waits for."""

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
node = {"num_cpus": 16, "object_store_memory": 80_000_000}
gpus, others = map(int, sys.argv[1:])
cluster = Cluster(initialize_head=True, head_node_args={**node, "num_gpus": gpus, "include_dashboard": False})
node["num_gpus"] = others
second = cluster.add_node(**node)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "lose\\n":
        cluster.remove_node(second, allow_graceful=False)
    else:
        second = cluster.add_node(**node)
    print(line, end="", flush=True)
cluster.shutdown()
"""


class Cluster:
    """Two nodes, of which the second can be lost and had again. The numbers of CPUs and GPUs are numbers only."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.address = self._said()

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def second(self, order: str) -> None:
        """``lose`` or ``add``."""
        assert self._process.stdin
        print(order, file=self._process.stdin, flush=True)
        assert self._said() == order


@contextmanager
def two_nodes(gpus: int = 1, others: int = 0) -> Iterator[Cluster]:
    """A cluster that ends with the block, with so many GPUs in its head and in its other node."""
    variables = {name: value for name, value in COMMON_ENVIRONMENT.items() if name.startswith("RAY_")}
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(gpus), str(others)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | variables | {"RAY_AUTH_MODE": "disabled"},
        text=True,
    ) as process:
        yield Cluster(process)


def use_own_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing names other sandboxes, and each node judges one program at a time."""
    for name in ("SANDBOX_URL", "MADRL_SANDBOX_URLS", "MADRL_SANDBOX_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SANDBOX_SLOTS", "1")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


def wait_for(found: Callable[[], object], why: Callable[[], object]) -> None:
    deadline = time.monotonic() + FAR
    while not found():
        assert time.monotonic() < deadline, why()
        time.sleep(0.2)


def services(folder: Path) -> dict[str, psutil.Process]:
    """Address -> the process of each service that wants the token in ``folder``."""
    found = {}
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if words[1:3] == ["-m", "sandbox"] and str(folder / "judges" / "token") in words:
            port, host = words[words.index("--port") + 1], words[words.index("--host") + 1]
            found[f"http://{host}:{port}"] = process
    return found


@contextmanager
def placed(folder: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """What a recipe does; yields what says the addresses that it tells its stages."""
    with judges(folder, cluster.address) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield lambda: fleet.all_addresses(program.sandbox_urls())
    wait_for(lambda: not services(folder), lambda: services(folder))
    assert not (folder / "judges" / "urls").exists()
    assert not (folder / "judges" / "token").exists()
