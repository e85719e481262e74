"""What is refused before a run starts, each with one line that names the value."""

import pytest
from omegaconf import OmegaConf

from madrl.errors import MadrlError
from madrl.reward import RewardConfig
from madrl.settings import Settings
from madrl.trainer.compose import compose

RUN = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
TINY = ["task=synthetic_closed", "profile=tiny", "trainer.experiment_name=x", "paths.model=x"]

REFUSED: list[tuple[list[str], str]] = [
    (["actor_rollout_ref.rollout.nn=3"], "rollout.nn"),
    (["+trainer.total_step=3"], "does not know the config key 'trainer.total_step'"),
    (["+actor_rollout_ref.actor.fsdp_config.offload=1"], "actor_rollout_ref.actor.fsdp_config.offload"),
    (["+ray_kwargs.ray_init.num_cpu=3"], "ray_kwargs.ray_init.num_cpu"),
    (["custom_reward_function.path=mine.py"], "legacy key"),
    (["reward_model.reward_manager=dapo"], "legacy key"),
    (["actor_rollout_ref.rollout.full_determinism=true"], "every request the same seed"),
    (["trainer.v1.trainer_mode=my_sync"], "asynchronous replay buffer"),
    (["madrl.reward.alpha=1.5"], r"alpha=1.5 is not a number in \[0, 1\]"),
    (["madrl.reward.divergence=wasserstein"], "unknown divergence 'wasserstein'"),
    (["+madrl.reward.beta=1"], "unknown key madrl.reward.beta"),
    (["madrl.target={rank_1: -1}"], "target weight -1"),
    (["madrl.categories=[a,a]"], "declared twice"),
    (["madrl.max_unjudged_rate=3"], "max_unjudged_rate=3"),
    (["madrl.max_unjudged_rate=true"], "max_unjudged_rate=True"),
    (["madrl.categories=abc"], "is not a list"),
    (["madrl.classifier=chocie"], "unknown classifier 'chocie'"),
    (["madrl.verifier=no_such_package.mine:verify"], "cannot import 'no_such_package.mine'"),
    (["madrl.reward=5"], "madrl.reward=5 is not a mapping"),
    (["trainer.v1=null"], "trainer.v1=None is not a mapping"),
    (["trainer.use_v1=false"], "needs? veRL's v1 trainer"),
    (["trainer.total_training_steps=null"], "total_training_steps=None is not a whole number"),
    (["seed=abc"], "seed='abc' is not a whole number"),
    (["trainer.logger=[console]"], "keep 'file'"),
    (["profile=huge"], "huge"),
    (["task=unheard_of"], "unheard_of"),
    (["actor_rollout_ref.actor.loss_agg_mode=nonsense"], "veRL rejects the config"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_a_config_that_would_run_something_else_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(MadrlError, match=message) as refused:
        compose(RUN + overrides)
    assert "\n" not in str(refused.value)


def test_the_reward_s_defaults_in_the_config_are_reward_config_s() -> None:
    settings = Settings.from_config(OmegaConf.to_container(compose([*RUN, "madrl.reward.alpha=0.7"]).madrl))  # type: ignore[arg-type]
    assert settings.reward == RewardConfig()


def test_chunked_prefill_is_refused_on_a_cpu_because_it_kills_the_engine() -> None:
    with pytest.raises(MadrlError, match="enable_chunked_prefill"):
        compose([*TINY, "actor_rollout_ref.rollout.enable_chunked_prefill=true"])


def test_a_value_that_only_the_user_knows_must_be_given() -> None:
    with pytest.raises(MadrlError, match=r"^paths\.model is not set: give it as paths\.model=VALUE$"):
        compose(TINY[:3])
    with pytest.raises(MadrlError, match="task"):
        compose(RUN[1:])


def test_a_key_that_verl_knows_but_leaves_out_of_its_yaml_is_accepted() -> None:
    config = compose([*RUN, "+actor_rollout_ref.actor.fsdp_config.mixed_precision={param_dtype: bf16}"])
    assert config.actor_rollout_ref.rollout.agent.agent_loop_manager_class.startswith("madrl.")
    assert config.actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype == "bf16"


def test_the_composed_config_is_resolved_and_its_paths_are_absolute() -> None:
    config = compose(RUN)
    assert config.paths.run.startswith("/")
    assert config.trainer.validation_data_dir == f"{config.paths.run}/validation"
    assert "${" not in OmegaConf.to_yaml(config)


def test_a_user_s_own_task_names_its_categories_and_its_plugins() -> None:
    mine = [
        "task=custom",
        "madrl.categories=[english,hindi,spanish,french]",
        "madrl.target={hindi: 1, spanish: 1, french: 1}",
        "madrl.classifier=madrl.classifiers.choice:classify_choice",
        "madrl.verifier=madrl.verifiers.listed_option:verify_listed_option",
        "paths.data=DIR",
    ]
    config = compose(mine)
    assert config.data.val_files.endswith("DIR/validation.parquet")
    for left_out in range(1, len(mine)):
        with pytest.raises(MadrlError, match="is not set: give it as"):
            compose([override for i, override in enumerate(mine) if i != left_out])


def test_one_seed_sets_every_seed_of_verl() -> None:
    config = compose([*RUN, "seed=7"])
    actor = config.actor_rollout_ref.actor
    seeds = (config.data.seed, actor.data_loader_seed, actor.fsdp_config.seed, config.actor_rollout_ref.rollout.seed)
    assert (*seeds, config.actor_rollout_ref.ref.fsdp_config.seed) == (7,) * 5


def test_a_user_defined_target_reaches_the_sampler_as_well() -> None:
    config = compose([*RUN, "madrl.target={rank_1: 3, rank_5: 1}"])
    assert config.trainer.v1.sampler.sampler_kwargs.madrl.target == {"rank_1": 3, "rank_5": 1}
