"""Work that a Ray cluster does on a node with GPUs: a real cluster, whose GPUs are only numbers to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.trainer.cluster import on_gpu_node
from madrl.trainer.process import COMMON_ENVIRONMENT

CLUSTER = """
import ray, sys
context = ray.init("local", num_cpus=1, num_gpus=2, include_dashboard=False, object_store_memory=80_000_000)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    environment = os.environ | {"RAY_AUTH_MODE": "disabled"}  # ours alone, and it ends with the test
    environment |= {name: value for name, value in COMMON_ENVIRONMENT.items() if name.startswith("RAY_")}
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as cluster:
        assert cluster.stdout
        yield cluster.stdout.readline().strip()


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """This file, on the cluster as well: PYTHONPATH is forwarded."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def seen(name: str) -> tuple[str | None, int]:
    return os.environ.get(name), os.getpid()


def refuse(reason: str) -> None:
    raise MadrlError(reason)


def test_the_work_is_done_elsewhere_with_its_gpus_and_our_variables(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADRL_SANDBOX_URLS", "http://judge:8080")
    devices, pid = on_gpu_node(address, 2, seen, "CUDA_VISIBLE_DEVICES")
    assert devices == "0,1"
    assert pid != os.getpid()
    assert on_gpu_node(address, 1, seen, "MADRL_SANDBOX_URLS")[0] == "http://judge:8080"


def test_what_the_work_raises_is_raised_here(address: str) -> None:
    with pytest.raises(MadrlError, match=r"^no checkpoint$"):
        on_gpu_node(address, 1, refuse, "no checkpoint")
