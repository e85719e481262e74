"""Runs on GPUs with and without flash-attn: a stand-in for the package, which is never called."""

import sys
from pathlib import Path
from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.recipe import ENTROPY_TOKENS
from madrl.trainer.compose import compose
from madrl.trainer.flash_attention import check_attention, trouble
from madrl.trainer.sft import Finetuning

GPU = ["task=synthetic_closed", "profile=gpu", "trainer.experiment_name=x"]
WANTED = "actor_rollout_ref.model.override_config.attn_implementation=flash_attention_2"


def flash_attn(folder: Path, monkeypatch: pytest.MonkeyPatch, init: str = "") -> None:
    """Make one that can be imported until the end of the test."""
    (folder / "flash_attn").mkdir()
    (folder / "flash_attn" / "__init__.py").write_text(init)
    (folder / "flash_attn" / "bert_padding.py").touch()
    monkeypatch.syspath_prepend(folder)
    for name in ("flash_attn", "flash_attn.bert_padding"):
        # Set first, so that what the test imports is forgotten at its end.
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)


def chosen(config: Any) -> tuple[bool, str]:
    return config.use_remove_padding, config.override_config.attn_implementation


def finetuning(folder: Path) -> Any:
    overrides = {"data.train_batch_size": 8, "data.max_length": 64, "optim.lr": 1e-5}
    return Finetuning("m", folder / "rows", folder, "warm_start_sft", 2, 2, 1, overrides).config().model


def test_a_run_on_gpus_does_without_flash_attn_where_it_is_not_installed(tmp_path: Path) -> None:
    config = compose(GPU)
    assert trouble() == "No module named 'flash_attn'"
    assert chosen(config.actor_rollout_ref.model) == chosen(finetuning(tmp_path)) == (False, "sdpa")
    assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == 8192, "padding makes it three times as many"
    check_attention(config)
    with pytest.raises(MadrlError, match=r"attn_implementation=flash_attention_2 needs flash-attn \(No module named"):
        check_attention(compose([*GPU, WANTED]))


def test_a_run_on_gpus_takes_flash_attn_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flash_attn(tmp_path, monkeypatch)
    config = compose(GPU)
    assert chosen(config.actor_rollout_ref.model) == chosen(finetuning(tmp_path)) == (True, "flash_attention_2")
    assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == 16384
    entropy = compose([*GPU, f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu='{ENTROPY_TOKENS}'"])
    assert entropy.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == 8192
    check_attention(config)
    tiny = compose(["task=synthetic_closed", "profile=tiny", "trainer.experiment_name=x", "paths.model=x"])
    assert chosen(tiny.actor_rollout_ref.model) == (False, "sdpa")


def test_a_flash_attn_of_another_torch_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flash_attn(tmp_path, monkeypatch, "raise ImportError('flash_attn_2_cuda.so: undefined symbol: _ZN3c104')")
    assert trouble() == "flash_attn_2_cuda.so: undefined symbol: _ZN3c104"
    assert chosen(compose(GPU).actor_rollout_ref.model) == (False, "sdpa")
