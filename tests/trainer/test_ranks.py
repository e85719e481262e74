"""How a step's responses are split over ranks: what veRL would fail on in the first step is refused before the run."""

import inspect

import pytest
from verl.workers.engine_workers import TrainingWorker

from madrl.errors import MadrlError
from madrl.trainer.compose import compose
from madrl.trainer.ranks import data_parallel_ranks

# 16 prompts x 32 responses = 512 a step, on 8 GPUs.
GPU = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
TINY = ["task=synthetic_closed", "profile=tiny", "trainer.experiment_name=x", "paths.model=x"]
ACTOR = "actor_rollout_ref.actor"
MEGATRON = ["model_engine=megatron", f"{ACTOR}.megatron.tensor_model_parallel_size=2"]

SIX, THREE_NODES = "trainer.n_gpus_per_node=6", "trainer.nnodes=3"
UNEVEN: list[tuple[list[str], str, str]] = [
    # 512 / 6 and 512 / 24 are no whole numbers; 15 and 18 prompts are 480 and 576 responses, which 6 and 24 divide.
    ([SIX], "^6 data-parallel", "data.train_batch_size to 15 or 18, or trainer.n_gpus_per_node to 4 or 8"),
    ([THREE_NODES], "^24 data-parallel", "data.train_batch_size to 15 or 18, or trainer.nnodes to 2 or 4"),
    # No number of nodes with 6 GPUs divides a power of two; 9 prompts are 288 responses, 16 for each of 18.
    ([THREE_NODES, SIX], "^18 data-parallel", "data.train_batch_size to 9 or 18"),
    # Two GPUs hold a model, so that 6 GPUs are 3 ranks.
    ([*MEGATRON, SIX], "^3 data-parallel", "data.train_batch_size to 15 or 18, or trainer.n_gpus_per_node to 4 or 8"),
    (
        ["model_engine=torchtitan", f"{ACTOR}.torchtitan.data_parallel_shard_size=6"],
        "^6 data-parallel",
        "data.train_batch_size to 15 or 18",
    ),
    # Mini-batches: 3 and 6 divide the 36 prompts, and with 32 responses each the 6 ranks divide them.
    (
        [SIX, "data.train_batch_size=36", f"{ACTOR}.ppo_mini_batch_size=4"],
        r"128 responses of an optimizer step \(actor_rollout_ref.actor.ppo_mini_batch_size=4 x rollout.n=32\)",
        f"{ACTOR}.ppo_mini_batch_size to 3 or 6, or trainer.n_gpus_per_node to 4 or 8",
    ),
    # No multiple of 9 divides 32.
    (
        [THREE_NODES, SIX, "data.train_batch_size=32", f"{ACTOR}.ppo_mini_batch_size=8"],
        "256 responses",
        "both batch sizes to a multiple of 9",
    ),
]


@pytest.mark.parametrize(("overrides", "what", "remedy"), UNEVEN, ids=[" ".join(case[0]) for case in UNEVEN])
def test_ranks_that_do_not_divide_a_step_are_refused_with_the_nearest_values_that_do(
    overrides: list[str], what: str, remedy: str
) -> None:
    with pytest.raises(MadrlError, match=what) as refused:
        compose(GPU + overrides)
    assert str(refused.value).endswith(f": set {remedy}")
    assert "\n" not in str(refused.value)


def test_what_an_error_names_composes() -> None:
    for change in ("data.train_batch_size=15", "data.train_batch_size=18", "trainer.n_gpus_per_node=4"):
        compose([*GPU, "trainer.n_gpus_per_node=6", change])
    for change in ("data.train_batch_size=18", "trainer.nnodes=4"):
        compose([*GPU, "trainer.nnodes=3", change])


@pytest.mark.parametrize(
    ("overrides", "ranks"),
    [
        ([], 8),
        (["trainer.nnodes=4"], 32),
        ([f"{ACTOR}.ulysses_sequence_parallel_size=2"], 4),
        ([f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size=4"], 2),
        # 6 GPUs in groups of 3 are 2 ranks, which divide 512.
        ([f"{ACTOR}.ulysses_sequence_parallel_size=3", "trainer.n_gpus_per_node=6"], 2),
        ([*MEGATRON, f"{ACTOR}.megatron.pipeline_model_parallel_size=2"], 2),
        (
            [
                *MEGATRON,
                f"{ACTOR}.megatron.dynamic_context_parallel=true",
                f"{ACTOR}.megatron.max_seqlen_per_dp_cp_rank=4096",
                SIX,
            ],
            1,
        ),
        (["model_engine=veomni", f"{ACTOR}.veomni.ulysses_parallel_size=2"], 4),
        (["model_engine=torchtitan", f"{ACTOR}.torchtitan.data_parallel_shard_size=4"], 4),
    ],
)
def test_ranks_that_share_a_model_or_a_sequence_take_one_share_together(overrides: list[str], ranks: int) -> None:
    # Sequences can be split over ranks only when they are packed.
    config = compose([*GPU, "actor_rollout_ref.model.use_remove_padding=true", *overrides])
    assert data_parallel_ranks(config) == ranks


@pytest.mark.parametrize(
    ("override", "purpose"),
    [
        (f"{ACTOR}.ulysses_sequence_parallel_size=3", "model_engine=dp needs groups of 3 GPUs for training"),
        (f"{ACTOR}.fsdp_config.fsdp_size=3", "FSDP needs groups of 3 GPUs for sharding"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size=3", "vllm needs groups of 3 GPUs for rollouts"),
    ],
)
def test_gpus_that_do_not_come_out_in_whole_groups_are_refused(override: str, purpose: str) -> None:
    with pytest.raises(MadrlError, match=f"{override} on 8 GPUs .*{purpose}"):
        compose([*GPU, override])


@pytest.mark.parametrize("key", ["actor.ppo", "ref.log_prob", "rollout.log_prob"])
def test_a_micro_batch_that_does_not_divide_a_rank_s_share_is_refused(key: str) -> None:
    batch = ["data.train_batch_size=8", "actor_rollout_ref.rollout.n=6", "trainer.n_gpus_per_node=2"]
    name = f"actor_rollout_ref.{key}_micro_batch_size_per_gpu"
    with pytest.raises(MadrlError, match=f"{name}=48 on 2 ranks does not divide the 48 responses"):
        compose([*TINY, *batch, f"{name}=48"])


@pytest.mark.parametrize("key", ["actor.ppo", "ref.log_prob", "rollout.log_prob"])
def test_a_micro_batch_that_the_longest_response_does_not_fit_into_is_refused(key: str) -> None:
    tokens = f"actor_rollout_ref.{key}_max_token_len_per_gpu"
    longest = ["data.max_prompt_length=1000", "data.max_response_length=8000"]
    with pytest.raises(MadrlError, match=f"{tokens}=8999: .* may have 9000 tokens .* set it to 9000 at least"):
        compose([*GPU, *longest, f"{ACTOR}.ppo_max_token_len_per_gpu=9000", f"{tokens}=8999"])
    with pytest.raises(MadrlError, match=f"{tokens}=None: .* set it to "):
        compose([*GPU, f"{tokens}=null"])
    with pytest.raises(MadrlError, match=f"{tokens}='9000': .* set it to "):
        compose([*GPU, *longest, f"{ACTOR}.ppo_max_token_len_per_gpu=9000", f"{tokens}='9000'"])
    halved = [f"{ACTOR}.ppo_max_token_len_per_gpu=4500", f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size=2"]
    compose([*GPU, *longest, *halved])
    ref = "actor_rollout_ref.ref.log_prob"
    compose(
        [*GPU, f"{ref}_use_dynamic_bsz=false", f"{ref}_micro_batch_size_per_gpu=1", f"{ref}_max_token_len_per_gpu=1"]
    )
    compose([*GPU, f"{ACTOR}.use_kl_loss=false", f"{ref}_max_token_len_per_gpu=1"])


def test_a_log_prob_micro_batch_counts_where_only_the_update_s_are_cut_by_tokens() -> None:
    fixed = ["actor_rollout_ref.ref.log_prob_use_dynamic_bsz=false"]
    key = "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"
    with pytest.raises(MadrlError, match=f"{key}=3 on 8 ranks"):
        compose([*GPU, *fixed, f"{key}=3"])
    compose([*GPU, f"{key}=3"])


def test_verl_still_asserts_what_is_checked_here() -> None:
    source = inspect.getsource(TrainingWorker.train_mini_batch)
    assert "mini_batch_size % self.engine.get_data_parallel_size() == 0" in source
