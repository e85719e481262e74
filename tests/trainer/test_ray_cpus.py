"""The CPUs that Ray must have, against veRL's and transfer_queue's own numbers, and what a run is told without them."""

import inspect

import pytest
from omegaconf import DictConfig
from transfer_queue.controller import TransferQueueController
from transfer_queue.storage.simple_storage import SimpleStorageUnit
from verl.single_controller.ray.base import ResourcePoolManager

from madrl.errors import MadrlError
from madrl.trainer.compose import compose
from madrl.trainer.ray_cpus import CPUS_PER_GPU, QUEUE_CPUS, check_own_ray, cpus_needed

GPU = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
LOGICAL = "++ray_kwargs.ray_init.num_cpus"


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def config(*overrides: str) -> DictConfig:
    return compose([*GPU, *overrides])


def test_a_node_of_eight_gpus_needs_34() -> None:
    # 3 x 8 + 8 storage units + the queue + an actor's start
    assert cpus_needed(config()) == 24 + 8 + 1 + 1 == 34
    # ... and 4 GPUs with 2 units 12 + 2 + 1 + 1; of 4 nodes each has 2 of the 8 units.
    two = "transfer_queue.backend.SimpleStorage.num_data_storage_units=2"
    assert cpus_needed(config("trainer.n_gpus_per_node=4", two)) == 16
    assert cpus_needed(config("trainer.nnodes=4")) == 24 + 2 + 1 + 1


def test_the_numbers_are_those_of_the_installed_packages() -> None:
    assert inspect.signature(ResourcePoolManager).parameters["max_colocate_count"].default == CPUS_PER_GPU
    for actor in (TransferQueueController, SimpleStorageUnit):
        assert actor._default_options["num_cpus"] == QUEUE_CPUS


def test_a_ray_of_the_run_s_own_that_is_too_small_is_refused_before_verl_waits_for_ever() -> None:
    with pytest.raises(MadrlError, match=r"Ray has 33 CPUs here, and a run with 8 GPUs holds 34: .*num_cpus=34$"):
        check_own_ray(config(f"{LOGICAL}=33"))
    check_own_ray(config(f"{LOGICAL}=34"))
    with pytest.raises(MadrlError, match=r"trainer.nnodes=2 and no Ray cluster: set RAY_ADDRESS"):
        check_own_ray(config("trainer.nnodes=2", f"{LOGICAL}=100"))


@pytest.mark.parametrize("profile", ["tiny", "small"])
def test_the_cpu_profiles_count_enough_for_themselves(profile: str) -> None:
    check_own_ray(compose(["task=synthetic_closed", f"profile={profile}", *GPU[2:], "paths.model=x"]))
