"""The sampling temperature baseline: no training, only one model's holdout responses at several temperatures.

    madrl temperature-sweep RUN      the last checkpoint of a run
    madrl temperature-sweep MODEL    a folder, or a name on the Hugging Face hub; needs TASK

A higher temperature spreads the mix over everything, at the price of correctness; it cannot ask for a mix. Killed at
any time, the same command goes on where it was. Environment variables:

TEMPERATURES="0.6 0.8 1.0 1.2 1.4"   1.0 is the temperature of training and of every other table
SAMPLES=N                            responses to each problem; unset: as many as a run's holdout takes
OUT=DIR                              gets temperature_T.jsonl and temperature_T.metrics.json for each T; unset:
                                     RUN/temperatures, or outputs/temperatures/TASK
TASK, PROFILE=gpu|small|tiny, DATA=DIR   for a MODEL: the task, the sizes, and where data_prep wrote the task
SANDBOX_URL=URLS                     judges programs; unset: a sandbox is started and stopped with the command
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from madrl.errors import MadrlError
from madrl.grading.verifiers import COMPUTE_SCORE
from madrl.recipe import Recipe
from madrl.run import Stage, madrl_command, resolved_config, run_stages
from madrl.run_folder import RunFolder
from madrl.tasks import make_importable

TEMPERATURES = "0.6 0.8 1.0 1.2 1.4"


def sweep(source: str, variables: Mapping[str, str]) -> None:
    """Sample and evaluate ``source``, a run folder or a model, at each temperature (the module's docstring).

    Raises MadrlError for a run without a checkpoint and a model without a task, SystemExit when a stage fails.
    """
    run = RunFolder(Path(source).absolute())
    if run.config.exists():
        from omegaconf import OmegaConf

        from madrl.sampling.model_folder import trained_model

        settings = OmegaConf.load(run.config)
        config: Any = OmegaConf.to_container(settings)
        model = str(trained_model(run, settings))
        if config["paths"].get("task"):
            make_importable(Path(config["paths"]["task"]).parent)
        folder = Path(variables.get("OUT") or run.root / "temperatures")
    else:
        if not variables.get("TASK"):
            raise MadrlError(f"{source} is no run folder, and a model needs TASK=NAME|FILE.yaml")
        profile = variables.get("PROFILE") or "gpu"
        recipe = Recipe(variables["TASK"], "uniform", "rkl", profile, model=source, name="temperature_sweep")
        config = yaml.safe_load(resolved_config(recipe))
        config["paths"]["data"] = variables.get("DATA") or config["paths"]["data"]
        model = source
        folder = Path(variables.get("OUT") or f"outputs/temperatures/{recipe.record.name}")
    temperatures = (variables.get("TEMPERATURES") or TEMPERATURES).split()
    samples = variables.get("SAMPLES", "")
    stages = []
    for temperature in temperatures:
        responses = folder.absolute() / f"temperature_{temperature}.jsonl"
        categories = ",".join(config["madrl"]["categories"])
        target = config["madrl"]["target"]
        target = target if isinstance(target, str) else json.dumps(target)
        evaluate = madrl_command("evaluate", str(responses), "--categories", categories, "--target", target)
        evaluate += ["--epsilon", str(config["madrl"]["reward"]["epsilon"])]
        stages += [
            sampling_stage(config, model, responses, temperature, samples=samples),
            Stage("evaluate", f"scores of {responses}", evaluate),
        ]
    run_stages(stages, folder.absolute())


def sampling_stage(
    config: Mapping[str, Any], model: str, responses: Path, temperature: str, *more: str, samples: str = ""
) -> Stage:
    """The stage that samples ``model`` on the holdout of a run with this ``config``, to ``responses``.

    Args:
        more: further words of ``madrl generate``.
        samples: responses to each problem; empty: as many as a run's holdout takes.

    Raises MadrlError for a config that ``madrl generate`` cannot be told.
    """
    if config["madrl"]["verifier"] == COMPUTE_SCORE:
        raise MadrlError(
            f"madrl.verifier={COMPUTE_SCORE}, whose function only a training has: a sweep, and alternatives, need a "
            "verifier by name, or pkg.module:name"
        )
    if split := [name for name in config["madrl"]["categories"] if "," in name]:
        raise MadrlError(
            f"category {split[0]!r} has a comma, and madrl generate takes the categories as A,B,C: name it without"
        )
    own, rollout = config["madrl"], config["actor_rollout_ref"]["rollout"]
    generate = madrl_command("generate", "--model", model, "--data", f"{config['paths']['data']}/holdout.parquet")
    generate += ["-o", str(responses), "--classifier", own["classifier"], "--verifier", own["verifier"]]
    generate += ["--classifier-args", json.dumps(own.get("classifier_args") or {})]
    generate += ["--verifier-args", json.dumps(own.get("verifier_args") or {})]
    generate += ["--categories", ",".join(own["categories"]), "--samples", samples or str(rollout["val_kwargs"]["n"])]
    generate += ["--temperature", temperature, "--top-p", str(rollout["top_p"]), "--top-k", str(rollout["top_k"])]
    generate += ["--max-response-tokens", str(config["data"]["max_response_length"]), "--seed", str(config["seed"])]
    generate += ["--chat-template", json.dumps(config["data"].get("apply_chat_template_kwargs") or {})]
    generate += ["--tensor-parallel-size", str(rollout["tensor_model_parallel_size"]), *more]
    generate += ["--trust-remote-code"] * config["actor_rollout_ref"]["model"]["trust_remote_code"]
    generate += ["--on-gpus"] * (config["trainer"]["device"] != "cpu")
    judges = own["verifier"] == "code"
    return Stage(f"temperature {temperature}", f"{model}, to {responses}", generate, runs_programs=judges)
