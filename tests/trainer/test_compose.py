"""What is refused before a run starts, each with one line that names the value."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from vllm.v1.executor import Executor

from madrl.errors import MadrlError
from madrl.recipe import recipe_of
from madrl.reward import RewardConfig
from madrl.settings import Settings
from madrl.trainer.compose import compose

RUN = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
TINY = ["task=synthetic_closed", "profile=tiny", "trainer.experiment_name=x", "paths.model=x"]
FILTER = ["algorithm.filter_groups.enable=true"]

REFUSED: list[tuple[list[str], str]] = [
    (["actor_rollout_ref.rollout.nn=3"], "rollout.nn"),
    (["+trainer.total_step=3"], "does not know the config key 'trainer.total_step'"),
    (["+actor_rollout_ref.actor.fsdp_config.offload=1"], "actor_rollout_ref.actor.fsdp_config.offload"),
    (["+ray_kwargs.ray_init.num_cpu=3"], "ray_kwargs.ray_init.num_cpu"),
    (["custom_reward_function.path=mine.py"], "legacy key"),
    (["reward_model.reward_manager=dapo"], "legacy key"),
    (["actor_rollout_ref.rollout.full_determinism=true"], "every request the same seed"),
    (["trainer.v1.trainer_mode=my_sync"], "asynchronous replay buffer"),
    (["trainer.v1.trainer_mode=separate_async"], "samples on devices of its own .*: use one of"),
    (
        ["trainer.v1.trainer_mode=colocate_async", "madrl.naming=option", "madrl.hints=2"],
        "madrl.hints=2 with trainer.v1",
    ),
    (["madrl.reward.alpha=1.5"], r"alpha=1.5 is not a number in \[0, 1\]"),
    (["madrl.reward.divergence=wasserstein"], "unknown divergence 'wasserstein'"),
    (["+madrl.reward.beta=1"], "unknown key madrl.reward.beta"),
    (["madrl.target={rank_1: -1}"], "target weight -1"),
    (["madrl.categories=[a,a]"], "declared twice"),
    (["madrl.max_ungraded_rate=3"], "max_ungraded_rate=3"),
    (["madrl.max_ungraded_rate=true"], "max_ungraded_rate=True"),
    (["madrl.max_idle_s=0"], "max_idle_s=0 is not a number of seconds above 0"),
    (["madrl.categories=abc"], "is not a list"),
    (["madrl.classifier=chocie"], "unknown classifier 'chocie'"),
    (["madrl.naming=klingon"], "unknown naming 'klingon'"),
    (["madrl.verifier=no_such_package.mine:verify"], "cannot import 'no_such_package.mine'"),
    (["madrl.classifier_args={patterns: 3}"], "classifier choice has no argument 'patterns': it takes none"),
    (["madrl.verifier_args={partial: true}"], "verifier listed_option has no argument 'partial': it takes none"),
    (["madrl.target={rank_1: 3, rank_2: 1, rank_1 : 1}"], "names category 'rank_1' twice: remove one$"),
    (
        ["madrl.target_schedule=[{step: 0, target: {rank_1: 1, rank_1: 2}}]"],
        "^target '{rank_1: 1, rank_1: 2}' names category 'rank_1' twice",
    ),
    (["paths.modle=x"], "there is no config key 'paths.modle'"),
    (["+paths.modle=x"], "^unknown key paths.modle: the keys are run, data, model, task$"),
    (["+size.tiny.step=3"], "^unknown key size.tiny.step: the keys are prompt_tokens, "),
    (["+size.cpu={}"], "^unknown key size.cpu: the keys are gpu, small, tiny$"),
    (["paths=null"], "^paths=None is not a mapping: its keys are run, "),
    (["size=null"], "^size=None is not a mapping: its keys are gpu, "),
    (["madrl=null"], "^madrl=None is not a mapping$"),
    (["size.tiny=3"], "^size.tiny=3 is not a mapping: its keys are prompt_tokens, "),
    (["madrl.reward=5"], "madrl.reward=5 is not a mapping"),
    (["trainer.v1=null"], "trainer.v1=None is not a mapping"),
    (["trainer.use_v1=false"], "needs? veRL's v1 trainer"),
    (["trainer.total_training_steps=null"], "total_training_steps=None is not a whole number"),
    (["seed=abc"], "seed='abc' is not a whole number"),
    (["trainer.logger=[console]"], "keep 'file'"),
    (["madrl.launch_check=off"], r"madrl.launch_check='?(off|False)'? is not one of"),
    ([*FILTER, "algorithm.filter_groups.metric=acc"], "metric='acc' is not one of"),
    ([*FILTER, "algorithm.filter_groups.metric=null"], "metric=None is not one of"),
    ([*FILTER, "algorithm.filter_groups.max_inflight_gen_batches=0"], "max_inflight_gen_batches=0 is not a whole"),
    ([*FILTER, "algorithm.filter_groups.max_num_gen_batches=-1"], "max_num_gen_batches=-1 is not a whole"),
    ([*FILTER, "data.gen_batch_size=16"], "fetch the prompts one by one"),
    (["data.gen_batch_size=3"], "gen_batch_size=3 does not divide data.train_batch_size"),
    (["data.gen_batch_size=64", "data.train_batch_size=32"], "gen_batch_size=64 does not divide"),
    (["data.train_batch_size=abc"], "^data.train_batch_size='abc' is not a whole number of 1 or more$"),
    (["actor_rollout_ref.rollout.n=abc"], "^actor_rollout_ref.rollout.n='abc' is not a whole number"),
    (["trainer.n_gpus_per_node=0"], "^trainer.n_gpus_per_node=0 is not a whole number of 1"),
    (["trainer.save_freq=abc"], "^trainer.save_freq='abc' is not a whole number of -1"),
    (["actor_rollout_ref.actor.optim.lr=abc"], "^actor_rollout_ref.actor.optim.lr='abc' is not a number of 0 or more$"),
    (["actor_rollout_ref.actor.entropy_coeff=-1"], "entropy_coeff=-1 is not a number of 0"),
    (["actor_rollout_ref.rollout.temperature=hot"], "temperature='hot' is not a number"),
    (["actor_rollout_ref.rollout.temperature=0"], "^actor_rollout_ref.rollout.temperature=0 is not a number above 0$"),
    (["actor_rollout_ref.rollout.val_kwargs.temperature=0.0"], "val_kwargs.temperature=0.0 is not a number above 0$"),
    (["data.train_batchsize=3"], "^there is no config key 'data.train_batchsize': did you mean data.train_batch_size"),
    (["zzz=1"], "^there is no config key 'zzz'$"),
    (["madrl.target={rank_1: 3"], "^madrl.target={rank_1: 3: cannot be read as KEY=VALUE; write a mapping as '{a: 2,"),
    (["profile=huge"], "huge"),
    (["task=unheard_of"], "unheard_of"),
    (["actor_rollout_ref.actor.loss_agg_mode=nonsense"], "veRL rejects the config"),
    (["actor_rollout_ref.actor.ppo_mini_batch_size=0"], "ppo_mini_batch_size=0 is not a whole number"),
    (["model_engine=fdsp"], "Available options in 'model_engine': dp megatron torchtitan veomni"),
    (["model_engine=megatron", "+actor_rollout_ref.actor.fsdp_config.seed=1"], "actor_rollout_ref.actor.fsdp_config"),
    (["+actor_rollout_ref.actor.megatron.seed=1"], "actor_rollout_ref.actor.megatron"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_a_config_that_would_run_something_else_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(MadrlError, match=message) as refused:
        compose(RUN + overrides)
    assert "\n" not in str(refused.value)


def test_the_reward_s_defaults_in_the_config_are_reward_config_s_and_calibrated_for_verl_s_update() -> None:
    settings = Settings.from_config(OmegaConf.to_container(compose([*RUN, "madrl.reward.alpha=0.7"]).madrl))  # type: ignore[arg-type]
    assert settings.reward == RewardConfig(calibrate=True)


def test_lora_composes_where_vllm_has_the_name_of_its_cpu_wheel() -> None:
    for profile in ("gpu", "tiny"):  # a run for GPUs is composed here, too
        config = compose([*TINY, f"profile={profile}", "actor_rollout_ref.model.lora_rank=8"])
        assert config.actor_rollout_ref.model.lora_rank == 8


def test_the_small_profile_updates_group_by_group_with_two_threads() -> None:
    config = compose(["task=synthetic_closed", "profile=small", "trainer.experiment_name=x", "paths.model=x"])
    rollout, actor = config.actor_rollout_ref.rollout, config.actor_rollout_ref.actor
    assert actor.ppo_micro_batch_size_per_gpu == rollout.n < config.data.train_batch_size * rollout.n
    assert rollout.n == config.size.small.group_size
    assert config.trainer.device == "cpu"
    assert config.ray_kwargs.ray_init.runtime_env.env_vars.OMP_NUM_THREADS == "2"


RANKS = {
    "one": [],
    "two of one machine": ["trainer.n_gpus_per_node=2"],
    "two of two machines": ["trainer.nnodes=2"],
    "two with two updates a step": ["trainer.nnodes=2", "actor_rollout_ref.actor.ppo_mini_batch_size=4"],
}


@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
@pytest.mark.parametrize("profile", ["tiny", "small"])
def test_the_micro_batches_of_a_cpu_profile_divide_each_rank_s_share(profile: str, ranks: list[str]) -> None:
    batch = ["data.train_batch_size=8", "actor_rollout_ref.rollout.n=6"]
    config = compose([f"profile={profile}", *TINY[:1], *TINY[2:], *batch, *ranks])
    node, trainer = config.actor_rollout_ref, config.trainer
    share, rest = divmod(node.actor.ppo_mini_batch_size * 6, trainer.nnodes * trainer.n_gpus_per_node)
    assert rest == 0
    sizes = {
        node.actor.ppo_micro_batch_size_per_gpu,
        node.ref.log_prob_micro_batch_size_per_gpu,
        node.rollout.log_prob_micro_batch_size_per_gpu,
    }
    assert sizes == {share if profile == "tiny" else 6}
    assert node.model.external_lib == (None if profile == "tiny" else "madrl.trainer.prefix_tree"), (
        "one group, one tree"
    )


@pytest.mark.parametrize("profile", ["tiny", "small"])
def test_a_cpu_profile_names_no_resources_of_a_cluster_that_runs_already(profile: str) -> None:
    """Ray refuses them there."""
    resources = ("num_cpus", "num_gpus", "object_store_memory")
    mine = [f"profile={profile}", *TINY[:1], *TINY[2:]]
    own = compose([*mine, "trainer.n_gpus_per_node=2"]).ray_kwargs.ray_init
    assert (own.address, own.num_cpus, own.num_gpus) == ("local", 16, 2)
    assert own.object_store_memory >= 500_000_000
    theirs = compose([*mine, "++ray_kwargs.ray_init.address=head:6379"]).ray_kwargs.ray_init
    assert [theirs[name] for name in resources] == [None] * 3


@pytest.mark.parametrize(
    ("found", "used"), [(None, "local"), ("", "local"), ("auto", "auto"), ("head:6379", "head:6379")]
)
def test_a_run_on_gpus_has_a_ray_of_its_own_unless_ray_address_names_one(
    found: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to itself Ray reads /tmp/ray/ray_current_cluster, whichever cluster wrote that, and whether it lives."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if found is not None:
        monkeypatch.setenv("RAY_ADDRESS", found)
    assert compose(RUN).ray_kwargs.ray_init.address == used


def test_chunked_prefill_is_refused_on_a_cpu_because_it_kills_the_engine() -> None:
    with pytest.raises(MadrlError, match="enable_chunked_prefill"):
        compose([*TINY, "actor_rollout_ref.rollout.enable_chunked_prefill=true"])


@pytest.mark.parametrize(("tensor_parallel", "executor"), [(1, "UniProcExecutor"), (2, "MultiprocExecutor")])
def test_an_engine_on_the_cpu_has_processes_for_its_workers_only_where_there_are_several(
    tensor_parallel: int, executor: str
) -> None:
    rollout = "actor_rollout_ref.rollout"
    split = [f"{rollout}.tensor_model_parallel_size={tensor_parallel}", f"trainer.n_gpus_per_node={tensor_parallel}"]
    named = compose([*TINY, *split]).actor_rollout_ref.rollout.engine_kwargs.vllm.distributed_executor_backend
    parallel = SimpleNamespace(distributed_executor_backend=named)
    assert Executor.get_class(SimpleNamespace(parallel_config=parallel)).__name__ == executor


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


def test_the_files_of_an_override_are_those_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = compose([*RUN, "data.train_files=a.parquet", "data.val_files=[rows/a.parquet,hdfs://rows/b.parquet]"]).data
    assert data.train_files == f"{tmp_path}/a.parquet"
    assert data.val_files == [f"{tmp_path}/rows/a.parquet", "hdfs://rows/b.parquet"]


def own_task(folder: Path, **more: Any) -> str:
    plugins = {"classifier": "madrl.grading.choice:classify_choice", "verifier": "listed_option"}
    content = {"categories": ["rank_1", "rank_5"], **plugins, "data": "rows", **more}
    (folder / "mine.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return f"task={folder}/mine.yaml"


def test_a_user_s_own_task_sets_what_a_task_of_the_paper_does(tmp_path: Path) -> None:
    config = compose([own_task(tmp_path, sizes={"gpu": {"steps": 7}}, naming="language"), "paths.model=x"])
    assert config.data.val_files == f"{tmp_path}/rows/validation.parquet"
    assert config.trainer.total_training_steps == 7
    assert config.paths.task == f"{tmp_path}/mine.yaml"
    assert (config.madrl.task, config.madrl.profile, config.madrl.naming) == ("mine", "gpu", "language")
    assert Settings.from_config(OmegaConf.to_container(config.madrl)).task == "mine"  # type: ignore[arg-type]


def test_what_a_task_file_presets_holds_also_where_the_profile_has_a_value_of_its_own(tmp_path: Path) -> None:
    preset = {"actor_rollout_ref": {"actor": {"optim": {"lr": 1e-6}}}}
    for profile in ("gpu", "tiny"):
        config = compose([own_task(tmp_path, config=preset), f"profile={profile}", "paths.model=x"])
        assert config.actor_rollout_ref.actor.optim.lr == 1e-6


def test_a_task_presets_keys_of_the_config_which_the_command_line_changes(tmp_path: Path) -> None:
    mine = [own_task(tmp_path, config={"madrl": {"reward": {"alpha": 0.25}}}), "paths.model=x"]
    assert compose(mine).madrl.reward.alpha == 0.25
    assert compose([*mine, "madrl.reward.alpha=0.5"]).madrl.reward.alpha == 0.5
    with pytest.raises(MadrlError, match=r"does not know the config key 'trainer\.total_step'"):
        compose([own_task(tmp_path, config={"trainer": {"total_step": 3}}), "paths.model=x"])


def test_a_misspelt_path_in_a_task_file_s_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"^unknown key paths\.modle: the keys are run, data, model, task$"):
        compose([own_task(tmp_path, config={"paths": {"modle": "typo"}}), "paths.model=x"])


def test_a_reward_function_beside_the_task_file_is_taken_and_none_of_its_name_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "score.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info):\n    ..."
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "score.py").write_text("raise AssertionError('another one')")
    monkeypatch.chdir(elsewhere)
    preset = {"reward": {"custom_reward_function": {"path": "score.py"}}, "data": {"val_files": ["rows/a.parquet"]}}
    config = compose([own_task(tmp_path, verifier="compute_score", config=preset), "paths.model=x"])
    assert config.reward.custom_reward_function.path == f"{tmp_path}/score.py"
    assert config.data.val_files == [f"{tmp_path}/rows/a.parquet"]


def test_one_seed_sets_every_seed_of_verl() -> None:
    config = compose([*RUN, "seed=7"])
    actor = config.actor_rollout_ref.actor
    seeds = (config.data.seed, actor.data_loader_seed, actor.fsdp_config.seed, config.actor_rollout_ref.rollout.seed)
    assert (*seeds, config.actor_rollout_ref.ref.fsdp_config.seed) == (7,) * 5


def test_a_user_defined_target_reaches_the_sampler_as_well() -> None:
    config = compose([*RUN, "madrl.target={rank_1: 3, rank_5: 1}"])
    assert config.trainer.v1.sampler.sampler_kwargs.madrl.target == {"rank_1": 3, "rank_5": 1}


def test_what_verl_drops_beside_a_sampler_reaches_ours() -> None:
    refill = "trainer.v1.sampler.sync_refill_failed_groups=true"
    changes = [*FILTER, refill, "algorithm.filter_groups.max_inflight_gen_batches=3", "data.gen_batch_size=1"]
    options = compose([*RUN, *changes]).trainer.v1.sampler.sampler_kwargs
    assert options.filter_groups.enable
    assert options.filter_groups.max_inflight_gen_batches == 3
    assert options.sync_refill_failed_groups
    assert options.train_batch_size == compose(RUN).data.train_batch_size


ENGINES = {"dp": "fsdp2", "megatron": "megatron", "veomni": "veomni", "torchtitan": "torchtitan"}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_training_engine_of_verl_has_its_own_config_and_the_run_s_seed(engine: str) -> None:
    config = compose([*RUN, f"model_engine={engine}", "seed=7"])
    node = "fsdp_config" if engine == "dp" else engine
    for part in (config.actor_rollout_ref.actor, config.actor_rollout_ref.ref):
        assert part.strategy == ENGINES[engine]
        assert part[node].seed == 7
        assert ("fsdp_config" in part) == (engine == "dp")


def test_activations_are_recomputed_under_megatron_as_under_fsdp() -> None:
    assert compose(RUN).actor_rollout_ref.model.enable_gradient_checkpointing
    ours = compose([*RUN, "model_engine=megatron"]).actor_rollout_ref.actor.megatron.override_transformer_config
    assert (ours.recompute_granularity, ours.recompute_method, ours.recompute_num_layers) == ("full", "uniform", 1)


def test_only_verl_s_data_parallel_engine_trains_on_a_cpu() -> None:
    with pytest.raises(MadrlError, match="model_engine='megatron' on a CPU: only dp"):
        compose([*TINY, "model_engine=megatron"])


@pytest.mark.parametrize("prefix", ["", "+", "++"])
def test_the_last_target_replaces_an_earlier_mapping(prefix: str) -> None:
    config = compose([*RUN, "madrl.target={rank_1: 3, rank_5: 1}", f"{prefix}madrl.target={{rank_2: 1}}"])
    assert config.madrl.target == {"rank_2": 1}
    assert config.trainer.v1.sampler.sampler_kwargs.madrl.target == {"rank_2": 1}


def test_a_target_replaces_the_mapping_of_a_task(tmp_path: Path) -> None:
    mine = [own_task(tmp_path, config={"madrl": {"target": {"rank_1": 3, "rank_5": 1}}}), "paths.model=x"]
    assert compose(mine).madrl.target == {"rank_1": 3, "rank_5": 1}
    assert compose([*mine, "madrl.target={rank_5: 1}"]).madrl.target == {"rank_5": 1}


ENDING = {
    "classifier": "regex",
    "classifier_args": {"patterns": {"exclaims": "!$", "states": "[.]$"}, "match": "first"},
    "categories": ["exclaims", "states"],
    "target": {"exclaims": 1, "states": 2},
}


@pytest.mark.parametrize(
    ("override", "changed"),
    [
        ("target={exclaims: 1}", {"target": {"exclaims": 1}}),
        ("target={exclaims: 3, states: 4}", {"target": {"exclaims": 3, "states": 4}}),
        ('target={"exclaims": 1}', {"target": '{"exclaims": 1}'}),
        ("target.states=5", {"target": {"exclaims": 1, "states": 5}}),
        (
            "classifier_args={patterns: {exclaims: '!', states: '[.]'}}",
            {"classifier_args": {"patterns": {"exclaims": "!", "states": "[.]"}}},
        ),
    ],
)
@pytest.mark.parametrize("prefix", ["", "++"])
def test_a_target_or_arguments_of_an_attribute_replace_those_of_a_task(
    tmp_path: Path, prefix: str, override: str, changed: dict[str, Any]
) -> None:
    mine = [own_task(tmp_path, attributes={"ending": ENDING}), "paths.model=x"]
    assert compose([*mine, f"{prefix}madrl.attributes.ending.{override}"]).madrl.attributes.ending == ENDING | changed


@pytest.mark.parametrize("prefix", ["", "++"])
def test_what_an_attribute_of_a_task_leaves_out_can_be_given_on_the_command_line(tmp_path: Path, prefix: str) -> None:
    bare = {key: value for key, value in ENDING.items() if key != "target"}
    mine = [own_task(tmp_path, attributes={"ending": bare}), "paths.model=x"]
    for override, changed in (
        ("target={exclaims: 1}", {"target": {"exclaims": 1}}),
        ("target=uniform", {"target": "uniform"}),
        ("weight=2", {"weight": 2}),
    ):
        config = compose([*mine, f"{prefix}madrl.attributes.ending.{override}"])
        assert config.madrl.attributes.ending == bare | changed
    with pytest.raises(MadrlError, match=r"there is no config key .*ending\.wieght"):
        compose([*mine, "madrl.attributes.ending.wieght=2"])


def test_a_text_that_looks_like_a_target_is_none(tmp_path: Path) -> None:
    mine = [own_task(tmp_path, attributes={"ending": ENDING}), "paths.model=x"]
    patterns = {"exclaims": "target={a: 1, a: 3}", "states": "[.]"}
    words = "{exclaims: 'target={a: 1, a: 3}', states: '[.]'}"
    config = compose([*mine, f"madrl.attributes.ending.classifier_args={{patterns: {words}}}"])
    assert config.madrl.attributes.ending.classifier_args.patterns == patterns


def test_an_attribute_on_the_command_line_is_a_whole_one(tmp_path: Path) -> None:
    mine = [own_task(tmp_path, attributes={"ending": ENDING}), "paths.model=x"]
    arguments = "{unit: words, buckets: {short: 4, long: null}}"
    whole = f"{{classifier: length, classifier_args: {arguments}, categories: [short, long]}}"
    for prefix, name, others in (("", "ending", set()), ("+", "length", {"ending"}), ("", "length", {"ending"})):
        attributes = compose([*mine, f"{prefix}madrl.attributes.{name}={whole}"]).madrl.attributes
        assert set(attributes) == {name, *others}
        assert set(attributes[name]) == {"classifier", "classifier_args", "categories"}
    with pytest.raises(MadrlError, match=r"^madrl\.attributes\.ending\.classifier is not set$"):
        compose([*mine, "madrl.attributes.ending={target: {exclaims: 1}}"])


UNUSUAL = ["größer", "c++", "don't", "1", "a=b"]


@pytest.mark.parametrize("of_task", [{}, {"config": {"madrl": {"target": {"1": 1}}}}])
def test_a_target_in_json_names_categories_that_hydra_s_grammar_cannot(tmp_path: Path, of_task: dict[str, Any]) -> None:
    task = own_task(tmp_path, categories=UNUSUAL, **of_task)
    target = '{"größer": 3, "c++": 3, "don\'t": 2, "1": 1, "a=b": 1}'
    overrides = [task, "paths.model=x", f"madrl.target={target}"]
    if not of_task:
        recipe = recipe_of([task.removeprefix("task="), target, "rkl"], {"NAME": "mine", "MODEL": "x"})
        overrides = recipe.hydra_overrides()
    node: Any = OmegaConf.to_container(compose(overrides).madrl)
    assert Settings.from_config(node).target.tolist() == [0.3, 0.3, 0.2, 0.1, 0.1]


def test_categories_that_hydra_reads_as_numbers_and_as_true_are_named_by_a_target(tmp_path: Path) -> None:
    mine = [own_task(tmp_path, categories=["2", "true", "false"]), "paths.model=x"]
    node: Any = OmegaConf.to_container(compose([*mine, "madrl.target={2: 1, true: 3}"]).madrl)
    assert Settings.from_config(node).target.tolist() == [0.25, 0.75, 0.0]


OWN_PLUGINS = """
class ByLength:
    def __init__(self, *, limits, categories):
        self.limits, self.categories = limits, categories
    def __call__(self, rollout):
        return self.categories[0]

def verify(rollout, *, part=0.5):
    return part
"""


def test_a_task_s_plug_ins_get_arguments_that_an_override_replaces_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "own_length.py").write_text(OWN_PLUGINS)
    plugins = {"classifier": "own_length:ByLength", "verifier": "own_length:verify"}
    mine = [own_task(tmp_path, **plugins, classifier_args={"limits": {"short": 3, "long": 9}}), "paths.model=x"]
    own = compose([*mine, "madrl.verifier_args={part: 0.25}"]).madrl
    assert (own.classifier_args, own.verifier_args) == ({"limits": {"short": 3, "long": 9}}, {"part": 0.25})
    changed = compose([*mine, "madrl.classifier_args={limits: {short: 4}}"])
    assert changed.madrl.classifier_args == {"limits": {"short": 4}}
    assert changed.trainer.v1.sampler.sampler_kwargs.madrl.classifier_args == {"limits": {"short": 4}}
    assert compose([*mine, "madrl.classifier_args.limits.short=5"]).madrl.classifier_args.limits.short == 5
    with pytest.raises(MadrlError, match="classifier own_length:ByLength needs the argument 'limits'"):
        compose([*mine, "madrl.classifier_args={}"])
    with pytest.raises(MadrlError, match=r"verifier own_length:verify has no argument 'prt': it takes part"):
        compose([*mine, "madrl.verifier_args={prt: 1}"])


def test_a_weight_can_be_changed_within_a_target() -> None:
    config = compose([*RUN, "madrl.target={rank_1: 3, rank_5: 1}", "madrl.target.rank_5=2"])
    assert config.madrl.target == {"rank_1": 3, "rank_5": 2}


def test_the_last_categories_replace_the_task_s() -> None:
    config = compose([*RUN, "madrl.categories=[a,b,c]", "madrl.categories=[d,e,f]"])
    assert config.madrl.categories == ["d", "e", "f"]


@pytest.mark.parametrize(("task", "samples"), [("synthetic_closed", 32), ("synthetic_open", 32), ("gsm8k", 4)])
def test_a_prompt_has_as_many_responses_in_validation_and_holdout_on_gpus_as_in_the_paper(
    task: str, samples: int
) -> None:
    # The holdout is sampled with the same key (madrl.sampling.holdout).
    config = compose([f"task={task}", "trainer.experiment_name=x", "paths.model=m"])
    assert config.actor_rollout_ref.rollout.val_kwargs.n == samples
    assert config.trainer.v1.sampler.sampler_kwargs.val_group_size == samples


@pytest.mark.parametrize(
    ("overrides", "calibrates"),
    [
        ([], True),
        (["madrl.reward.form=rlvr"], False),
        (["madrl.reward.form=gated"], False),
        (["algorithm.norm_adv_by_std_in_grpo=false"], True),
        (["algorithm.adv_estimator=rloo"], False),
        (["madrl.reward.calibrate=false"], False),
    ],
)
def test_rewards_are_calibrated_where_the_update_is_the_one_that_the_offsets_are_made_for(
    overrides: list[str], calibrates: bool
) -> None:
    config = compose([*TINY, *overrides])
    assert config.madrl.reward.calibrate is calibrates
    assert config.trainer.v1.sampler.sampler_kwargs.madrl.reward.calibrate is calibrates
    assert config.madrl.reward.norm_by_std is config.algorithm.norm_adv_by_std_in_grpo
