"""The model of a run's checkpoint, as a folder that vLLM and transformers load.

Of a LoRA run veRL 0.9.1 writes weights with PEFT's names, the frozen ones and the adapters side by side, which neither
of them loads: they are merged here.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.run_folder import RunFolder
from madrl.sampling.generate import WEIGHTS


def trained_model(run: RunFolder, config: Any) -> Path:
    """The folder of the model that the last checkpoint holds; of a LoRA run ``huggingface_merged`` beside veRL's own,
    W + (alpha / r) B A in each adapted layer (PEFT's ``merge_and_unload``), written at the first call.

    ``config`` is the run's resolved config. Raises MadrlError when there is no checkpoint, no model in it, or one that
    the config does not describe.
    """
    step = run.checkpoint_step()
    if step == 0:
        raise MadrlError(f"{run.root} has no checkpoint: train it first, with trainer.save_freq above 0")
    model = run.model(step)
    if not any(model.glob(WEIGHTS)):
        raise MadrlError(
            f"{model} holds no {WEIGHTS}: train with hf_model in actor_rollout_ref.actor.checkpoint.save_contents, "
            "and sample on the machine that wrote the checkpoint or shares its folder"
        )
    if config.actor_rollout_ref.model.lora_rank == 0:
        return model
    merged = model.with_name("huggingface_merged")
    if not merged.exists():
        with tempfile.TemporaryDirectory(dir=model.parent, prefix=".merging-") as folder:
            unfinished = Path(folder) / "model"
            _merge(model, config.actor_rollout_ref.model, unfinished)
            unfinished.rename(merged)
    return merged


def _merge(checkpoint: Path, settings: Any, folder: Path) -> None:
    from peft import PeftModel, get_peft_model
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM

    weights = {name: value for file in checkpoint.glob(WEIGHTS) for name, value in load_file(file).items()}
    own = AutoConfig.from_pretrained(checkpoint, trust_remote_code=settings.trust_remote_code)
    base = AutoModelForCausalLM.from_config(
        own, dtype=next(iter(weights.values())).dtype, trust_remote_code=settings.trust_remote_code
    )
    model = get_peft_model(base, _lora(settings))
    assert isinstance(model, PeftModel)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if own.tie_word_embeddings:  # written once
        missing = [name for name in missing if not name.endswith("lm_head.weight")]
        base.tie_weights()
    if missing or unexpected:
        raise MadrlError(
            f"{checkpoint} is not what actor_rollout_ref.model.lora_rank={settings.lora_rank} and target_modules="
            f"{settings.target_modules} describe: without {sorted(missing)[:3]}, with {sorted(unexpected)[:3]}"
        )
    model.merge_and_unload().save_pretrained(folder)
    for file in checkpoint.iterdir():  # the tokenizer, its chat template, the generation config
        if ".safetensors" not in file.name and not (folder / file.name).exists():
            shutil.copy(file, folder)


def _lora(settings: Any) -> Any:
    """The adapters' config as veRL makes it (verl.workers.engine.fsdp.transformer_impl)."""
    from omegaconf import OmegaConf
    from peft import LoraConfig, PeftConfig, TaskType

    if settings.lora_adapter_path:
        return PeftConfig.from_pretrained(settings.lora_adapter_path)
    plain = OmegaConf.to_container(settings)
    assert isinstance(plain, dict)
    modules: dict[str, Any] = {k: plain.get(k) for k in ("target_modules", "target_parameters", "exclude_modules")}
    return LoraConfig(task_type=TaskType.CAUSAL_LM, r=plain["lora_rank"], lora_alpha=plain["lora_alpha"], **modules)


def main() -> None:
    """Print the path, for scripts."""
    from omegaconf import OmegaConf

    run = RunFolder(Path(sys.argv[1]).absolute())
    try:
        print(trained_model(run, OmegaConf.load(run.config)))
    except MadrlError as error:
        sys.exit(f"madrl: error: {error}")


if __name__ == "__main__":
    main()
