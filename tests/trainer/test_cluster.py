"""Work that a Ray cluster does on a node with GPUs: a real cluster, whose GPUs are only numbers to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from placed_work import refuse, seen

from madrl import process
from madrl.errors import MadrlError
from madrl.process import COMMON_ENVIRONMENT
from madrl.run_folder import RunFolder
from madrl.trainer import cluster
from madrl.trainer.cluster import on_gpu_node
from madrl.trainer.launch import _one_of_its_own

CLUSTER = """
import ray, sys
context = ray.init("local", num_cpus=4, num_gpus=2, include_dashboard=False, object_store_memory=80_000_000)
print(context.address_info["gcs_address"], flush=True)
print(ray.get_runtime_context().get_job_id(), flush=True)
sys.stdin.read()
"""


@contextmanager
def cluster_of(**variables: str) -> Iterator[str]:
    """The address of a cluster that ends with the context."""
    variables |= {name: value for name, value in COMMON_ENVIRONMENT.items() if name.startswith("RAY_")}
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | variables, text=True
    ) as cluster:
        assert cluster.stdout
        yield cluster.stdout.readline().strip()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster_of(RAY_AUTH_MODE="disabled") as found:
        yield found


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """``placed_work``, on the cluster as well: PYTHONPATH is forwarded."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def test_the_first_job_of_a_ray_has_the_number_by_which_a_run_s_own_sockets_are_known() -> None:
    variables = {name: value for name, value in COMMON_ENVIRONMENT.items() if name.startswith("RAY_")}
    said = subprocess.run(
        [sys.executable, "-c", CLUSTER],
        input="",
        stdout=subprocess.PIPE,
        env=os.environ | variables,
        text=True,
        check=True,
    ).stdout
    assert said.splitlines()[-1] == process.OWN_RAY_JOB


def test_the_work_is_done_elsewhere_with_its_gpus_and_our_variables(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADRL_SANDBOX_URLS", "http://judge:8080")
    devices, pid = on_gpu_node(address, 2, seen, "CUDA_VISIBLE_DEVICES")
    assert devices == "0,1"
    assert pid != os.getpid()
    assert on_gpu_node(address, 1, seen, "MADRL_SANDBOX_URLS")[0] == "http://judge:8080"


def test_vllm_reports_nothing_from_the_workers_of_a_cluster_either(address: str) -> None:
    assert on_gpu_node(address, 1, seen, "VLLM_NO_USAGE_STATS")[0] == "1"
    assert on_gpu_node(address, 1, seen, "DO_NOT_TRACK")[0] == "1"


def test_what_the_work_raises_is_raised_here(address: str) -> None:
    with pytest.raises(MadrlError, match=r"^no checkpoint$"):
        on_gpu_node(address, 1, refuse, "no checkpoint")


JOIN = """
import sys
from madrl.errors import MadrlError
from madrl.trainer.cluster import check_alone
try:
    check_alone(sys.argv[1])
    import ray
    ray.init(sys.argv[1], log_to_driver=False)
    class Actor:
        def said(self): return "joined"
    print(ray.get(ray.remote(Actor).options(num_cpus=0).remote().said.remote()))
except MadrlError as error:
    print(error)
"""


@pytest.mark.nightly
def test_a_cluster_that_demands_a_token_is_joined_with_it_and_with_no_other(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}  # no token there

    def said(address: str, **variables: str) -> str:
        command = [sys.executable, "-c", JOIN, address]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return subprocess.run(
            command, env=kept | home | variables, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    with cluster_of(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="a" * 64, **home) as address:
        assert said(address, RAY_AUTH_TOKEN="a" * 64) == "joined\n"
        refused = f"cannot join the Ray cluster at {address}"
        assert said(address, RAY_AUTH_TOKEN="b" * 64).startswith(refused)
        assert "set RAY_AUTH_TOKEN_PATH to a file that holds it" in said(address)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("b" * 64)
    with cluster_of(RAY_AUTH_MODE="disabled", **home) as address:
        assert said(address) == "joined\n", "a token that an earlier Ray has left is no harm"


def test_a_ray_of_a_run_s_own_leaves_no_token_for_later_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(cluster.AUTH_MODE, raising=False)
    run, config = RunFolder(tmp_path), OmegaConf.create({"ray_kwargs": {"ray_init": {"address": "local"}}})
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    with _one_of_its_own(run, config) as variables, cluster_of(HOME=str(tmp_path / "home"), **variables) as address:
        assert address
    assert not (tmp_path / "home" / ".ray").exists()
    with _one_of_its_own(run, config) as others:
        assert others != variables
    monkeypatch.setenv(cluster.AUTH_MODE, "disabled")
    with _one_of_its_own(run, config) as nothing:
        assert nothing == {}


QUEUE = """
import ray, sys
ray.init(sys.argv[1], log_to_driver=False)
import transfer_queue as tq
from omegaconf import OmegaConf
tq.init(OmegaConf.create({"backend": {"SimpleStorage": {"num_data_storage_units": 1}}}))
"""
FIRST = (
    QUEUE
    + """
print("running", flush=True)
sys.stdin.readline()
tq.kv_put(key="mine", partition_id="train", fields=None, tag={"status": "running"})
print(*tq.kv_list()["train"], flush=True)
sys.stdin.readline()
tq.close()
"""
)
SECOND = (
    QUEUE
    + """
from madrl.trainer.cluster import check_own_queue
try:
    check_own_queue()
finally:
    tq.close()  # as veRL does
"""
)


@pytest.fixture
def first(address: str) -> Iterator["subprocess.Popen[str]"]:
    """Another run on the cluster, as far as its queue goes. It takes a line for each thing that it is to do."""
    with subprocess.Popen(
        [sys.executable, "-c", FIRST, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "running\n"
        yield process


@pytest.mark.verl(group="test_cluster")
def test_a_cluster_trains_one_run_at_a_time(
    address: str, first: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    run, config = RunFolder(tmp_path), OmegaConf.create({"ray_kwargs": {"ray_init": {"address": address}}})
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "PATIENCE_S", 0.0)
        another = rf"another training \(Ray job \d+\) runs on the Ray cluster at {address} already"
        with pytest.raises(MadrlError, match=another), _one_of_its_own(run, config):
            pass
    first.communicate("\n\n")
    with _one_of_its_own(run, config):
        pass


@pytest.mark.verl(group="test_cluster")
@pytest.mark.nightly
def test_of_two_runs_that_start_at_once_the_second_ends_and_leaves_the_first_its_queue(
    address: str, first: "subprocess.Popen[str]"
) -> None:
    second = subprocess.run([sys.executable, "-c", SECOND, address], capture_output=True, text=True, check=False)
    assert "MadrlError: another training (Ray job" in second.stderr.splitlines()[-1]
    assert first.communicate("\n\n")[0] == "mine\n"
    assert first.returncode == 0


@pytest.mark.verl(group="test_cluster")
@pytest.mark.nightly
def test_a_run_that_is_alone_on_its_cluster_has_its_own_queue(address: str) -> None:
    subprocess.run([sys.executable, "-c", SECOND, address], check=True)
