"""Folders with a Hugging Face model: what tells one from another, and the one that a run's checkpoint holds.

veRL 0.9.1 writes the weights of a LoRA run with PEFT's names, the frozen ones and the adapters side by side. Neither
vLLM nor transformers loads these, so they are merged here.
"""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.files import check_model
from madrl.run_folder import RunFolder

WEIGHTS = "*.safetensors"

PROMPT_FILES = ("tokenizer*", "chat_template*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges*")
"""What of a folder decides the prompt's tokens."""

PIECE = 1 << 14
"""The bytes of each tensor that tell it from another: reading models whole takes minutes where they are large."""


def fingerprint(model: str) -> str | None:
    """What tells a model folder from another one that was put in its place; None for a name on the hub.

    It is the SHA-256 over the folder's config, its tokenizer and chat template and, of each tensor of the weights, the
    name, type, shape and first PIECE bytes: training moves every tensor that it trains. Raises MadrlError for a folder
    that holds no model.
    """
    folder = Path(model)
    check_model(model)
    if not folder.is_dir():
        return None
    config, weights = folder / "config.json", sorted(folder.glob(WEIGHTS))
    if not config.exists() or not weights:
        raise MadrlError(f"model {model} is no Hugging Face model: it has no config.json or no {WEIGHTS}")
    digest = hashlib.sha256(config.read_bytes())
    for path in sorted(file for pattern in PROMPT_FILES for file in folder.glob(pattern) if file.is_file()):
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    for path in weights:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            try:
                length = int.from_bytes(file.read(8), "little")
                header = file.read(length)
                tensors = json.loads(header)
            except (ValueError, OverflowError, MemoryError) as error:
                raise MadrlError(f"{path} is no whole safetensors file: copy it again") from error
            digest.update(header)
            for name, tensor in sorted(tensors.items()):
                if name != "__metadata__":
                    start, end = tensor["data_offsets"]
                    file.seek(8 + length + start)
                    digest.update(file.read(min(PIECE, end - start)))
    return digest.hexdigest()


def trained_model(run: RunFolder, config: Any) -> Path:
    """The folder of the model that the last checkpoint holds.

    For a LoRA run it is ``huggingface_merged`` beside veRL's own folder, with W + (alpha / r) B A in each adapted layer
    (PEFT's ``merge_and_unload``). The first call writes it. ``config`` is the run's resolved config.

    Raises MadrlError when there is no checkpoint, no model in it, or one that the config does not describe.
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
