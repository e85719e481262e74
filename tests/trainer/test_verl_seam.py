"""Everything that madrl relies on inside veRL, so that an upgrade fails here, loudly, and names what moved.

Each entry says which of our modules depends on it. A behaviour that only a run can show is in test_real_trainer.py.
"""

import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopManager,
    AgentLoopMetrics,
    AgentLoopOutput,
    AgentLoopWorker,
)
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
from verl.experimental.teacher_loop.teacher_manager import AsyncTeacherLLMServerManager, _get_teacher_sampling_params
from verl.plugin.platform import PlatformBase
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync
from verl.trainer.ppo.v1.trainer_base import PPOTrainer, get_trainer_cls
from verl.utils.fsdp_utils import collect_lora_params
from verl.utils.tensordict_utils import assign_non_tensor_data
from verl.utils.tracking import FileLogger
from verl.workers.config import HFModelConfig
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine_workers import ActorRolloutRefWorker

from madrl.process import VERL_SOCKETS
from madrl.trainer import replay_buffer
from madrl.trainer.compose import compose, verl_config
from madrl.trainer.replay_buffer import MadReplayBuffer
from madrl.trainer.verl_settings import REPLAY_BUFFERS

WORKER: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class


def test_the_installed_verl_is_the_pinned_one() -> None:
    requirements = importlib.metadata.requires("madrl") or []
    pins = {r.split(";")[0].strip() for r in requirements if r.startswith("verl")}
    installed = importlib.metadata.version("verl")
    assert f"verl=={installed}" in pins, f"veRL {installed} is installed; pyproject pins {sorted(pins)}"


SIGNATURES: list[tuple[str, Callable[..., Any], list[str]]] = [
    ("group_loop._run_prompt", WORKER._run_prompt, ["self", "prompt", "sampling_params", "trajectory", "trace"]),
    (
        "group_loop._run_agent_loop",
        WORKER._run_agent_loop,
        ["self", "sampling_params", "trajectory", "agent_name", "trace", "kwargs"],
    ),
    ("group_loop._compute_score", WORKER._compute_score, ["self", "outputs", "kwargs"]),
    ("hinted_loop.run", SingleTurnAgentLoop.run, ["self", "sampling_params", "priority", "kwargs"]),
    (
        "hinted_loop.run",
        AgentLoopBase.ct_build_initial_tokens,
        ["self", "messages", "tools", "images", "videos", "audios", "mm_inputs_out"],
    ),
    ("group_loop.generate_sequences", AgentLoopManagerTQ.generate_sequences, ["self", "prompts"]),
    ("group_loop.generate_sequences", assign_non_tensor_data, ["tensor_dict", "key", "val"]),
    ("reward_manager.run_single", RewardManagerBase.run_single, ["self", "data"]),
    ("reward_manager.__init__", RewardManagerBase.__init__, ["self", "config", "tokenizer", "compute_score"]),
    ("group_loop._ask_reward_worker", RewardLoopWorker.compute_score, ["self", "data"]),
    ("sampler.sample", ReplayBuffer.sample, ["self", "global_steps", "partition_id", "batch_size"]),
    (
        "replay_buffer._wait_for_next_poll",
        ReplayBuffer._wait_for_next_poll,
        ["self", "partition_id", "last_debug_time"],
    ),
    ("prefix_tree.prepare_model_inputs", FSDPEngineWithLMHead.prepare_model_inputs, ["self", "micro_batch"]),
    (
        "prefix_tree.prepare_model_outputs",
        FSDPEngineWithLMHead.prepare_model_outputs,
        ["self", "output", "output_args", "micro_batch", "logits_processor_func"],
    ),
]


@pytest.mark.parametrize(("dependent", "function", "parameters"), SIGNATURES, ids=[s[0] for s in SIGNATURES])
def test_an_overridden_method_still_has_the_parameters_it_is_overridden_with(
    dependent: str, function: Callable[..., Any], parameters: list[str]
) -> None:
    found = [p for p in inspect.signature(function).parameters if p != "_ray_trace_ctx"]  # Ray's own, on actor methods
    assert found == parameters, f"{function.__qualname__} changed: madrl.trainer.{dependent} overrides or calls it"


SOURCES: list[tuple[str, Any, str]] = [
    ("all sessions of a prompt run in one worker", WORKER._run_prompt, "self._run_agent_loop("),
    ("each session knows its number", WORKER._run_prompt, "session_id=i"),
    ("a prompt may bring its own number of sessions", WORKER._run_prompt, '"__rollout_n__"'),
    ("validation has its own number of sessions", WORKER._run_prompt, "config.val_kwargs.n"),
    ("a batch's columns reach each session", WORKER._run_prompt, "session_id=i, **prompt"),
    ("a batch of validation says so, one of training does not", PPOTrainer._validate, '"validate", True'),
    ("a training batch is sent with its step", PPOTrainer._next_train_batch, '"global_steps", self.global_steps'),
    ("one batch is generated after another is sampled", PPOTrainer.prepare_step, "self._add_batch_to_generate()"),
    ("with LoRA an engine of dummy weights", ActorRolloutRefWorker.init_model, 'base_sync_done: bool = "dummy" not in'),
    ("gets the base's before the adapters", ActorRolloutRefWorker.update_weights, "if do_lora_base_sync:"),
    ("which layered_summon cannot send", collect_lora_params, "if not base_sync_done:\n                raise "),
    ("a session's columns are stored as they were given", WORKER._agent_loop_postprocess, "field.update(kwargs)"),
    ("what is trained on is the output's prompt", WORKER._agent_loop_postprocess, "torch.tensor(output.prompt_ids"),
    ("an agent loop is found by its name", AgentLoopWorker._run_agent_loop, "_agent_loop_registry[agent_name]"),
    ("rows may name an agent loop", WORKER.generate_sequences, '"agent_name" not in batch'),
    ("a session samples from raw_prompt", SingleTurnAgentLoop.run, 'kwargs["raw_prompt"]'),
    ("a prompt longer than rollout.prompt_length is cut", AgentLoopBase, "prompt_ids[-prompt_length:]"),
    ("an engine is asked for a prompt's log probabilities", _get_teacher_sampling_params, '"prompt_logprobs": num_'),
    ("and gives them so", AsyncTeacherLLMServerManager, 'teacher_output.extra_fields["prompt_logprobs"]'),
    ("one row for each token", AsyncTeacherLLMServerManager, "teacher_logprobs.shape[0] == len(sequence_ids)"),
    ("the reward is asked for once, with all outputs", WORKER._agent_loop_postprocess, "self._compute_score(outputs"),
    ("reward workers are reachable as handles", AgentLoopWorker.__init__, "self.reward_loop_worker_handles ="),
    ("the worker class is read after our __init__", AgentLoopManagerTQ.create, "_init_agent_loop_workers"),
    ("the reward worker hands the data on", RewardLoopWorker.compute_score, "self.reward_manager.run_single(data)"),
    ("a reward function's kwargs are bound to it", get_custom_reward_fn, "partial(_call_with_kwargs, raw_fn,"),
    ("a reward manager is given the user's reward function", load_reward_manager, "compute_score=final_compute_score"),
    ("validation takes no mean of text", process_validation_metrics, "isinstance(var_vals[0], str)"),
    ("a failed session is logged with what it raised", WORKER._run_prompt, "exc_info=(type(error), error,"),
    ("a custom sampler is used", PPOTrainer._build_replay_buffer, "custom_sampler.path"),
    ("the sampler polls, and waits between two looks", ReplayBuffer.sample, "self._wait_for_next_poll(partition_id"),
    ("a run's own module is imported before its engine is chosen", HFModelConfig.__post_init__, "(self.external_lib)"),
    ("an engine's inputs go to the model as they are", FSDPEngineWithLMHead.forward_step, "**model_inputs,"),
    ("workers have names", AgentLoopManager._init_agent_loop_workers, 'name=f"agent_loop_worker_{i}"'),
    ("the sampler gets its options", PPOTrainer._build_replay_buffer, "sampler_kwargs=sampler_config.sampler_kwargs"),
    ("the sampler's metrics become training metrics", PPOTrainer._step_once, "metrics.update(off_policy_metrics)"),
    ("validation dumps carry reward_extra_info", PPOTrainer._validate, '"reward_extra_info"'),
    ("dumps are called <step>.jsonl", PPOTrainer._write_generations, 'f"{global_steps}.jsonl"'),
    ("dump lines name their session", PPOTrainer._log_rollout_data, '"uid": [batch.keys[i]'),
    ("a response's key is {uid}_{session}_{turn}", WORKER._agent_loop_postprocess, 'f"{uid}_{session_id}_{i}"'),
    ("dump lines have the names that records translates", PPOTrainer._write_generations, '"gts": gts'),
    ("a batch is padded with rows of such a uid", upsample_batch_to_divisible_size, 'f"pad{uuid.uuid4().hex}"'),
    ("text is not averaged in validation", process_validation_metrics, "isinstance(var_vals[0], str)"),
    ("the file logger overwrites, hence one file an attempt", FileLogger.__init__, '"wb"'),
    ("the file logger's path can be set", FileLogger.__init__, "VERL_FILE_LOGGER_PATH"),
    (
        "a lone trajectory's advantage is its raw reward, hence our zero",
        compute_grpo_outcome_advantage,
        "id2mean[idx] = torch.tensor(0.0)",
    ),
]


@pytest.mark.parametrize(("what", "owner", "text"), SOURCES, ids=[s[0] for s in SOURCES])
def test_verl_still_works_the_way_we_rely_on(what: str, owner: Any, text: str) -> None:
    assert text in inspect.getsource(owner), f"veRL changed: {what} ({text!r} is gone from {owner.__qualname__})"


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_loaded_reward_function_has_the_users_own_as_its_first_argument(tmp_path: Path, kind: str) -> None:
    (tmp_path / "mine.py").write_text(f"{kind} score(**asked):\n    return asked\n")
    function = {"path": str(tmp_path / "mine.py"), "name": "score", "reward_kwargs": {"scale": 2}}
    loaded: Any = get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": function}}))
    assert loaded.args[0].__name__ == "score"
    assert inspect.iscoroutinefunction(loaded) is (kind == "async def")


def test_the_rows_of_a_prompt_s_log_probabilities_begin_with_its_second_token() -> None:
    # Read as text: on a CPU the module loads in a worker of veRL's only.
    (folder,) = map(Path, importlib.import_module("verl.workers.rollout").__path__)
    text = (folder / "vllm_rollout" / "utils.py").read_text()
    for line in (
        "for logprobs_dict in output.prompt_logprobs[1:]:",
        "prompt_logprobs_ls.append([logprob])",
        "prompt_logprobs_ls.append([0.0] * max(num_prompt_logprobs, 1))",
    ):
        assert line in text, f"veRL changed: madrl.trainer.hinted_loop reads what {line!r} wrote"


def test_the_sockets_of_a_run_are_where_and_what_we_look_for() -> None:
    (folder,) = map(Path, importlib.import_module("verl.workers.rollout").__path__)
    before, after = str(VERL_SOCKETS).split("*")
    for name in ("vllm_rollout.py", "utils.py"):  # the trainer's end, and the engine's
        text = (folder / "vllm_rollout" / name).read_text()
        assert re.search(rf"ipc://{before}\S+{after}\"", text), f"veRL changed: the socket in {name}"


def test_agent_loop_outputs_have_the_fields_we_read_and_write() -> None:
    assert {
        "prompt_ids", "response_ids", "response_mask", "response_logprobs", "multi_modal_data", "reward_score",
        "extra_fields", "metrics",
    } <= set(AgentLoopOutput.model_fields)  # fmt: skip
    assert "compute_score" in AgentLoopMetrics.model_fields


def test_the_cpu_platform_implements_everything_that_verl_asks_of_a_platform() -> None:
    pytest.importorskip("torch")
    from madrl.trainer.cpu_platform import PlatformCPU

    assert issubclass(PlatformCPU, PlatformBase)
    missing = sorted(PlatformCPU.__abstractmethods__)
    assert not missing, f"veRL's PlatformBase has new abstract methods: {missing}"


@pytest.mark.parametrize("profile", ["gpu", "tiny"])
def test_every_key_of_our_config_is_known_to_verl(profile: str) -> None:
    config = compose(["task=synthetic_closed", f"profile={profile}", "trainer.experiment_name=x", "paths.model=x"])
    assert config.reward.reward_manager.name == "MadRewardManager"
    assert config.trainer.v1.trainer_mode == "sync"


def test_a_run_in_each_mode_has_the_replay_buffer_that_verl_has_in_it() -> None:
    run = ["task=synthetic_closed", "profile=tiny", "trainer.experiment_name=x", "paths.model=x"]
    for mode, base in (("sync", ReplayBuffer), ("colocate_async", ReplayBufferAsync)):
        sampler = compose([*run, f"trainer.v1.trainer_mode={mode}"]).trainer.v1.sampler.custom_sampler
        ours = getattr(replay_buffer, sampler.name)
        assert issubclass(ours, MadReplayBuffer)
        assert issubclass(ours, base)
        assert issubclass(ours, ReplayBufferAsync) == (mode != "sync")
        assert get_trainer_cls(mode).__name__.lower() == f"ppotrainer{mode}".replace("_", "")
    for lacking in ("separate_async", "my_sync"):
        assert lacking not in REPLAY_BUFFERS


def test_what_keeps_separate_async_from_a_cpu_is_still_there() -> None:
    """docs/verl_settings.md tells what it would need."""
    config = verl_config().copy()
    OmegaConf.set_struct(config, False)
    trainer = get_trainer_cls("separate_async")
    config.data.train_batch_size = 4
    config.actor_rollout_ref.actor.ppo_mini_batch_size = 1  # parameter_sync_step is 4
    rollout = config.actor_rollout_ref.rollout
    rollout.nnodes, rollout.n_gpus_per_node = 1, 0
    with pytest.raises(AssertionError, match="n_gpus_per_node must be > 0"):
        trainer(config)
    rollout.n_gpus_per_node = 1
    assert rollout.checkpoint_engine.backend == "naive"
    with pytest.raises(AssertionError, match="nccl/nixl/mooncake"):
        trainer(config)


def test_the_sampling_defaults_that_we_override_are_still_there() -> None:
    val_kwargs = OmegaConf.to_container(verl_config().actor_rollout_ref.rollout.val_kwargs)
    assert isinstance(val_kwargs, dict)
    assert {"n", "do_sample", "temperature", "top_p", "top_k"} <= set(val_kwargs)
