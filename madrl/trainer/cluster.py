"""Using a Ray cluster that runs already: joining it, doing work on its GPUs, passing variables to its workers, and
training one run on it at a time. And the token of a Ray that a run starts for itself.

The head of such a cluster often has no GPU, and other jobs may use some of the GPUs.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

from madrl.errors import MadrlError
from madrl.grading.programs.program import TOKEN_FILE_VARIABLE, URLS_VARIABLE
from madrl.process import WORKER_ENVIRONMENT

FORWARDED = ("PYTHONPATH", URLS_VARIABLE, TOKEN_FILE_VARIABLE)
"""Variables that every Ray worker gets, also on a cluster that runs already. They hold no secret: veRL logs them."""

QUEUE = {"name": "TransferQueueController", "namespace": "transfer_queue"}
"""The actor through which the processes of a run pass their responses on. transfer_queue fixes both names, so that two
runs on one cluster would share the actor."""

PATIENCE_S = 15.0
"""How long Ray may take to end the actors of a run that is over."""

CONNECT_S = 30.0
"""How long the head of a cluster may take to accept a connection."""

AUTH_MODE = "RAY_AUTH_MODE"
"""The variable that says whether Ray's processes present a token; unset, they do so or not as Ray 2.60 sees fit."""

R = TypeVar("R")


def forwarded() -> dict[str, str]:
    """The environment of every Ray worker: WORKER_ENVIRONMENT, and those of FORWARDED that are set here."""
    return {name: os.environ[name] for name in FORWARDED if name in os.environ} | WORKER_ENVIRONMENT


def own_token() -> dict[str, str]:
    """The environment of a run that starts a Ray of its own: a token of its own, unless RAY_AUTH_MODE is set.

    Without it Ray 2.60 writes ~/.ray/auth_token, which the head of every later cluster of this user then demands, and
    which nobody presents who joins that cluster by its address.
    """
    return {} if AUTH_MODE in os.environ else {AUTH_MODE: "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def join(address: str, **options: Any) -> None:
    """``ray.init`` on the cluster at ``address``, with the token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, if one is
    set, which child processes present as well from then on. One in ~/.ray/auth_token counts where RAY_AUTH_MODE=token
    says so.

    Raises MadrlError when nothing listens there, which Ray would try for ever, and when it does not let us in.
    """
    if address.startswith("ray://"):
        raise MadrlError(
            f"{address} is for a client outside the Ray cluster, which does not train: start this on one of its nodes, "
            "with the address that `ray start` told, HEAD:6379"
        )
    import ray
    from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available

    # Ray does that by itself only where it looks for a cluster on this machine. Who presents a token also demands it of
    # the cluster's workers, which have none where the cluster wants none: a file that some Ray has left is no reason.
    if os.environ.keys() & {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}:
        maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    host, _, port = address.rpartition(":")
    try:
        if host and port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        ray.init(address=address, **options)
    except (OSError, ray.exceptions.AuthenticationError) as error:
        raise MadrlError(
            f"cannot join the Ray cluster at {address} ({' '.join(str(error).split())[:200]}): it has ended, or it "
            "demands the token that it was started with; set RAY_AUTH_TOKEN_PATH to a file that holds it, often "
            "~/.ray/auth_token"
        ) from error


def check_alone(address: str) -> None:
    """Raises MadrlError while another training runs on the Ray cluster at ``address``."""
    import ray

    join(address, log_to_driver=False, logging_level="ERROR")
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                queue = ray.get_actor(**QUEUE)
            except ValueError:  # there is none
                return
            if time.monotonic() > deadline:
                raise MadrlError(_shared(f"at {address} ", queue))
            del queue
            time.sleep(0.5)
    finally:
        ray.shutdown()


def check_own_queue() -> None:
    """Raises MadrlError in a run whose queue belongs to another run. ``check_alone`` misses two that start at once.

    Call it in the process that has called ``transfer_queue.init``, before that puts anything into the queue.
    """
    import ray
    import transfer_queue

    queue = ray.get_actor(**QUEUE)
    if _job_of(queue) != ray.get_runtime_context().get_job_id():
        # veRL ends with transfer_queue.close(), which would kill the queue that the other run works with.
        transfer_queue.interface._TQ_CONTROLLER = None
        raise MadrlError(_shared("", queue))


def _job_of(actor: Any) -> str:
    """The number of the Ray job that created ``actor``, which is a part of the actor's id."""
    return str(actor._actor_id.job_id.hex())


def _shared(where: str, queue: Any) -> str:
    return (
        f"another training (Ray job {_job_of(queue)}) runs on the Ray cluster {where}already: transfer_queue has one "
        "queue a cluster, so that each run would train on responses of the other. Wait until it has ended, or start "
        "this one on another Ray cluster (RAY_ADDRESS)"
    )


def on_gpu_node(address: str, gpus: int, work: Callable[..., R], *arguments: Any) -> R:
    """Run ``work(*arguments)`` once, in a process with ``gpus`` GPUs of the Ray cluster at ``address``.

    Returns what it returns and raises what it raises; its output appears here. Waits until that many GPUs of one node
    are free.
    """
    import ray
    from ray.exceptions import RayTaskError

    join(address, runtime_env={"env_vars": forwarded()})
    try:
        result: R = ray.get(ray.remote(num_gpus=gpus, max_retries=0)(work).remote(*arguments))
        return result
    except RayTaskError as error:
        raise error.cause from None
    finally:
        ray.shutdown()
