"""The CPUs that Ray must have on a node of a run. With fewer veRL waits for ever, and says nothing.

They are logical: Ray counts them, and nobody is bound to them. What a run holds of them, in veRL's and transfer_queue's
own numbers:

    each GPU             CPUS_PER_GPU    (ResourcePoolManager.max_colocate_count)
    each storage unit    1               (SimpleStorageUnit; 8 of them, spread over the nodes)
    the queue itself     1               (TransferQueueController, on one of the nodes)
    an actor's start     1               (agent loops, reward workers and engines hold none once they run)

which is 34 for one node with 8 GPUs: 24 + 8 + 1 + 1.
"""

import math

from omegaconf import DictConfig

from madrl.errors import MadrlError

CPUS_PER_GPU = 3
"""The CPUs in the placement group of each GPU."""

QUEUE_CPUS, STARTING_CPUS = 1, 1


def cpus_needed(config: DictConfig) -> int:
    """The CPUs that the node with most of the run's actors must have."""
    backend, trainer = config.transfer_queue.backend, config.trainer
    units = backend.SimpleStorage.num_data_storage_units if backend.storage_backend == "SimpleStorage" else 0
    on_node = math.ceil(units / trainer.nnodes)
    return int(CPUS_PER_GPU * trainer.n_gpus_per_node + on_node + QUEUE_CPUS + STARTING_CPUS)


def cpus_of_own_ray(config: DictConfig) -> int:
    """The CPUs that a Ray of the run's own has."""
    from ray._private.utils import get_num_cpus

    return int(config.ray_kwargs.ray_init.get("num_cpus") or get_num_cpus(override_docker_cpu_warning=True))


def too_few(config: DictConfig) -> str | None:
    """What is wrong with a Ray of the run's own; None when it is large enough for the run."""
    trainer = config.trainer
    if trainer.nnodes > 1:
        return f"trainer.nnodes={trainer.nnodes} and no Ray cluster: set RAY_ADDRESS to its head, HEAD:6379"
    needed, found = cpus_needed(config), cpus_of_own_ray(config)
    if found < needed:
        return (
            f"Ray has {found} CPUs here, and a run with {trainer.n_gpus_per_node} GPUs holds {needed}: veRL would wait "
            f"for the rest; Ray only counts them, so set ++ray_kwargs.ray_init.num_cpus={needed}"
        )
    return None


def check_own_ray(config: DictConfig) -> None:
    """Raises MadrlError when the Ray that the run would start is too small for it."""
    if (why := too_few(config)) is not None:
        raise MadrlError(why)
