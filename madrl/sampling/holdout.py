"""The holdout split of a trained run, sampled with its last checkpoint from prompts that name no category.

vLLM's offline engines rather than veRL's validation: no trainer has to start again for it, and a kill loses one batch.
"""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grading.grader import GraderSpec
from madrl.grading.verifiers import COMPUTE_SCORE
from madrl.process import all_gpus
from madrl.run_folder import RunFolder
from madrl.sampling.engine import Sampling, visible_devices
from madrl.sampling.generate import Sampled, generate_file
from madrl.sampling.model_folder import trained_model
from madrl.tasks import make_importable
from madrl.trainer.cluster import on_gpu_node


def sample_holdout(root: str, initial: bool = False) -> Sampled:
    """Write RUN/holdout/S.jsonl, where S is the step of the last checkpoint; with ``initial`` RUN/holdout/0.jsonl, by
    the model that the run started from.

    There are as many responses to each problem as validation takes, with the temperature, top_p, top_k, length, seed,
    classifier and verifier of the run. The same call goes on after a kill.

    A run that was trained on GPUs is sampled by the Ray cluster that RAY_ADDRESS names, as it was trained, or else by
    the GPUs here. Raises MadrlError when the folder holds no run, the run is being trained, it was trained on GPUs and
    there is none, and as ``trained_model`` and ``generate_file``.
    """
    run = RunFolder(Path(root).absolute())
    address = os.environ.get("RAY_ADDRESS")
    trainer = run.resolved_config().trainer
    if address and trainer.device != "cpu":
        return on_gpu_node(address, trainer.n_gpus_per_node, _sample_here, run, initial)
    return _sample_here(run, initial)


def _sample_here(run: RunFolder, initial: bool) -> Sampled:
    from omegaconf import OmegaConf

    settings, config = run.settings(), run.resolved_config()
    if config.paths.get("task"):
        make_importable(Path(config.paths.task).parent)
    if config.trainer.device != "cpu" and not visible_devices():
        raise MadrlError(
            f"{run.root} was trained on GPUs and there is none here: run madrl holdout where there is, or name a Ray "
            "cluster in RAY_ADDRESS"
        )
    on_gpus = config.trainer.device != "cpu" and not os.environ.get("RAY_ADDRESS")
    with (
        locked(run.lock, f"{run.root} is being trained or sampled by another process: wait for it to end"),
        all_gpus(f"the holdout of {run.root} waits: others take the GPUs") if on_gpus else nullcontext(),
    ):
        model = config.actor_rollout_ref.model.path if initial else trained_model(run, config)
        step = 0 if initial else run.checkpoint_step()
        rollout = config.actor_rollout_ref.rollout
        sampling = Sampling(
            str(model),
            rollout.temperature,
            config.data.max_response_length,
            config.seed,
            OmegaConf.to_container(config.data.apply_chat_template_kwargs),  # type: ignore[arg-type]
            config.actor_rollout_ref.model.trust_remote_code,
            rollout.top_p,
            rollout.top_k,
        )
        function: Any = None
        if settings.verifier == COMPUTE_SCORE:
            function = OmegaConf.to_container(config.reward.custom_reward_function)
        grader = GraderSpec(
            settings.classifier,
            settings.verifier,
            settings.categories,
            function,
            settings.classifier_args,
            settings.verifier_args,
            settings.attributes,
        )
        run.holdout.mkdir(exist_ok=True)
        return generate_file(
            Path(config.paths.data) / "holdout.parquet",
            run.holdout / f"{step}.jsonl",
            sampling,
            grader,
            rollout.val_kwargs.n,
            gpus_per_engine=rollout.tensor_model_parallel_size,
        )
