"""The model of a checkpoint, as vLLM and transformers load it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from madrl.errors import MadrlError
from madrl.miniature.model import build_model, build_tokenizer
from madrl.run_folder import RunFolder
from madrl.sampling.model_folder import fingerprint, trained_model
from madrl.trainer.compose import compose

STEP = 4


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.model(STEP).mkdir(parents=True)
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text(str(STEP))
    return run


def settings(**changes: Any) -> Any:
    """A run's config. Changed after it is composed: on the CPU stack veRL accepts no adapters in training."""
    config = compose(["task=math", "trainer.experiment_name=x"])
    config.actor_rollout_ref.model.update(changes)
    return config


@pytest.fixture
def adapted(run: RunFolder) -> Any:
    """A model with adapters that do something, written as veRL's checkpoint manager writes it; and the model itself."""
    from peft import LoraConfig, get_peft_model

    tokenizer = build_tokenizer(["a b c d"], 300)
    base = build_model(tokenizer, hidden_size=32, layers=2, seed=0)
    adapted = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=16, target_modules="all-linear"))
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    state = {name: weight for name, weight in adapted.state_dict().items() if not name.endswith("lm_head.weight")}
    build_model(tokenizer, 32, 2, 1).save_pretrained(run.model(STEP), state_dict=state)
    tokenizer.save_pretrained(run.model(STEP))
    return adapted.eval()


def saved(folder: Path, seed: int, *others: str) -> Path:
    """The model of seed 0, with the tensors whose names have one of ``others`` in them from the model of ``seed``."""
    tokenizer = build_tokenizer(["a b c d"], 300)
    model, other = (build_model(tokenizer, 32, 2, of) for of in (0, seed))
    with torch.no_grad():
        for (name, weight), (_, theirs) in zip(model.named_parameters(), other.named_parameters(), strict=True):
            if any(part in name for part in others):
                weight.copy_(theirs)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_model_is_told_from_one_that_differs_in_a_kind_of_layer_or_in_its_chat_template(tmp_path: Path) -> None:
    model = saved(tmp_path / "one", 0)
    own = fingerprint(str(model))
    assert fingerprint(str(saved(tmp_path / "same", 0))) == own
    assert fingerprint(str(saved(tmp_path / "q", 1, "q_proj"))) != own
    assert fingerprint(str(saved(tmp_path / "norm", 1, "embed_tokens"))) != own
    (model / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    assert fingerprint(str(model)) != own


def test_weights_that_are_not_whole_are_an_error(tmp_path: Path) -> None:
    model = saved(tmp_path / "one", 0)
    (model / "model.safetensors").write_bytes(b"half")
    with pytest.raises(MadrlError, match=r"model.safetensors is no whole safetensors file: copy it again"):
        fingerprint(str(model))


def test_a_checkpoint_s_own_model_is_taken_as_it_is(run: RunFolder) -> None:
    (run.model(STEP) / "model.safetensors").touch()
    assert trained_model(run, settings()) == run.model(STEP)


def test_adapters_are_merged_into_a_model_that_says_the_same(run: RunFolder, adapted: Any) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = trained_model(run, settings(lora_rank=4))
    merged = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    with torch.no_grad():
        expected = adapted(tokens).logits
        assert torch.allclose(merged(tokens).logits, expected, atol=1e-4)
        with adapted.disable_adapter():
            assert not torch.allclose(adapted(tokens).logits, expected, atol=0.1), "the adapters do nothing"
    assert AutoTokenizer.from_pretrained(folder)("a b")["input_ids"]
    weights = folder / "model.safetensors"
    written = weights.stat().st_mtime_ns
    assert trained_model(run, settings(lora_rank=4)) == folder
    assert weights.stat().st_mtime_ns == written, "merged twice"


@pytest.mark.usefixtures("adapted")
def test_adapters_that_the_config_does_not_describe_are_an_error_and_leave_nothing(run: RunFolder) -> None:
    before = sorted(run.model(STEP).parent.iterdir())
    with pytest.raises(MadrlError, match=r"not what .*lora_rank=4 and target_modules=\['q_proj'\] describe"):
        trained_model(run, settings(lora_rank=4, target_modules=["q_proj"]))
    assert sorted(run.model(STEP).parent.iterdir()) == before


def test_a_checkpoint_without_weights_is_an_error(run: RunFolder) -> None:
    with pytest.raises(MadrlError, match=r"holds no \*.safetensors: train with hf_model in"):
        trained_model(run, settings())
