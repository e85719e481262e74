"""The engine that computes what a micro-batch's rows have in common once, against veRL's own."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM
from verl.utils import tensordict_utils as tu
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

from madrl.process import CPU_ENVIRONMENT
from madrl.trainer.prefix_tree import PrefixTreeEngine, multiply_adds, prefix_tree

PROMPT = [5, 6, 7, 8, 9, 5, 6, 7, 11]
GROUP = [[*PROMPT, *response] for response in ([1, 2, 3], [1, 2, 4], [1, 2, 3], [3], [3, 3, 3, 3, 0])]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6))
def test_a_tree_has_each_distinct_prefix_once_and_gives_the_rows_back(rows: list[list[int]]) -> None:
    tree = prefix_tree(rows)
    assert tree.tokens.size == len({tuple(row[: i + 1]) for row in rows for i in range(len(row))})
    places = iter(tree.places.tolist())
    for row in rows:
        for depth, token in enumerate(row):
            node = next(places)
            # What it sees are the row's tokens up to it, in their order.
            seen = np.flatnonzero(tree.visible[node])
            assert tree.tokens[seen].tolist() == row[: depth + 1]
            assert tree.depths[seen].tolist() == list(range(depth + 1))
            assert token == tree.tokens[node]


def model_of(**settings: Any) -> LlamaForCausalLM:
    torch.manual_seed(1)
    sizes = {
        "vocab_size": 16, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 64,
    }  # fmt: skip
    config = LlamaConfig(attn_implementation="sdpa", **sizes | settings)
    return LlamaForCausalLM(config)


def micro_batch_of(rows: list[list[int]], temperature: float = 1.0, **flags: Any) -> Any:
    tensors = {
        "input_ids": torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged),
        "position_ids": torch.nested.as_nested_tensor([torch.arange(len(row)) for row in rows], layout=torch.jagged),
    }
    flags = {"temperature": temperature, "use_remove_padding": False, "calculate_entropy": True} | flags
    return tu.get_tensordict(tensors, non_tensor_dict=flags)


def outcome(engine: type, model: LlamaForCausalLM, batch: Any) -> tuple[dict[str, Any], dict[str, Any], int]:
    """The engine's outputs, the gradients of a loss that weighs every one of them differently, and how many tokens the
    model was given."""
    one: Any = object.__new__(engine)
    one.module, one.model_config = model, SimpleNamespace(hf_config=model.config)
    one.engine_config, one.pad_to_length = SimpleNamespace(entropy_checkpointing=False), None
    inputs, rest = one.prepare_model_inputs(micro_batch=batch)
    found = one.prepare_model_outputs(model(**inputs, use_cache=False), rest, batch, None)
    kept = torch.cat([torch.arange(len(row)) < len(row) - 1 for row in batch["input_ids"].unbind()])
    values = {name: value.values()[kept] for name, value in found.items()}
    model.zero_grad()
    sum((value * torch.arange(1.0, value.numel() + 1)).sum() for value in values.values()).backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    return {name: value.detach() for name, value in values.items()}, gradients, inputs["input_ids"].numel()


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_entropies_and_gradients_are_those_of_verl(temperature: float) -> None:
    model, batch = model_of(), micro_batch_of(GROUP, temperature)
    expected, gradients, padded = outcome(FSDPEngineWithLMHead, model, batch)
    found, own_gradients, nodes = outcome(PrefixTreeEngine, model, batch)
    assert (padded, nodes) == (5 * 14, len(PROMPT) + 4 + 5)
    assert found.keys() == expected.keys() == {"log_probs", "entropy"}
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, atol=1e-5, rtol=1e-5)
    for name, gradient in gradients.items():
        torch.testing.assert_close(own_gradients[name], gradient, atol=1e-4, rtol=1e-4)


def test_log_probabilities_in_bfloat16_are_as_near_to_float32_as_verl_s() -> None:
    model, batch = model_of(vocab_size=4096), micro_batch_of(GROUP)
    exact, _, _ = outcome(FSDPEngineWithLMHead, model, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theirs, _, _ = outcome(FSDPEngineWithLMHead, model, batch)
        ours, _, nodes = outcome(PrefixTreeEngine, model, batch)
    assert nodes == len(PROMPT) + 4 + 5
    assert ours["log_probs"].dtype == torch.float32
    errors = [(found["log_probs"] - exact["log_probs"]).abs().mean() for found in (ours, theirs)]
    assert errors[0] <= errors[1]


def test_rows_with_nothing_in_common_are_left_to_verl() -> None:
    rows = [[i, *range(11 + i % 2)] for i in range(12)]
    _, _, tokens = outcome(PrefixTreeEngine, model_of(), micro_batch_of(rows))
    assert tokens == 12 * 13, "attention over 150 nodes costs more than 12 times over 13"


@pytest.mark.parametrize("settings", [{"model_type": "mamba"}, {"sliding_window": 4}])
def test_a_model_that_a_tree_would_not_be_right_for_is_left_to_verl(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of()
    for name, value in settings.items():
        monkeypatch.setattr(model.config, name, value, raising=False)
    assert outcome(PrefixTreeEngine, model, micro_batch_of(GROUP))[2] == 5 * 14


def test_the_cost_of_a_pass_counts_both_products_of_attention() -> None:
    config = SimpleNamespace(hidden_size=32, num_attention_heads=4, num_hidden_layers=3)
    assert multiply_adds(10, 100, 7, config) == 10 * 7 + 2 * 100 * 3 * 32


@pytest.mark.parametrize(
    ("imported", "expected"), [("", FSDPEngineWithLMHead), ("madrl.trainer.prefix_tree", PrefixTreeEngine)]
)
def test_on_a_cpu_a_run_has_it_where_it_names_the_module(imported: str, expected: type) -> None:
    code = f"""
import verl
from verl.utils.import_utils import import_external_libs
from verl.workers.engine import EngineRegistry
import_external_libs({imported!r} or None)
print([EngineRegistry.get_engine_cls(kind, "fsdp2").__name__ for kind in ("language_model", "value_model")])
"""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | CPU_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines()[-1] == str([expected.__name__, "FSDPEngineWithValueHead"])
