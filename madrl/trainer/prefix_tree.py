"""veRL's FSDP engine for short responses on CPUs: what a micro-batch's sequences have in common is computed once.

The responses of a group share their prompt, and many share their first words or are the same. Here a micro-batch is one
sequence of all *distinct* prefixes of its rows: a tree with a token at each node, at the position of its depth, which
attends to its ancestors alone. A row's hidden states are those of its own sequence, so that its log probabilities and
the gradients are veRL's own up to rounding. Padding is not computed either.

A run that names this module as ``actor_rollout_ref.model.external_lib``, as the small profile does, has this engine in
the place of veRL's wherever the platform is the CPU's (``PlatformCPU.vendor_name``). It leaves to veRL what it has no
tree for: other models than those of ``MODELS``, packed and distilled batches, and micro-batches of which the tree would
cost more, as attention is over all of its nodes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from verl.utils import tensordict_utils as tu
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

MODELS = ("llama", "qwen2", "qwen3")
"""Model types whose positions mix in nothing but attention, under the mask that transformers is given."""

FLAGS = ("use_fused_kernels", "calculate_sum_pi_squared", "distillation_use_topk", "distillation_only")
"""What a micro-batch may ask for that only veRL's own form has."""


class PrefixTree(NamedTuple):
    """The distinct prefixes of some rows of tokens; a node comes after its parent."""

    tokens: NDArray[np.int64]
    """The last token of each prefix, shape (nodes,)."""
    depths: NDArray[np.int64]
    """Its position in a row, from 0."""
    visible: NDArray[np.bool_]
    """Whether the node in the row attends to that in the column: itself and its ancestors. Shape (nodes, nodes)."""
    places: NDArray[np.int64]
    """The node of each of the rows' tokens, one row after the other."""


def prefix_tree(rows: Sequence[Sequence[int]]) -> PrefixTree:
    """The tree of ``rows``, none of which is empty."""
    children: dict[tuple[int, int], int] = {}
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    places: list[int] = []
    for row in rows:
        node = -1
        for depth, token in enumerate(row):
            found = children.setdefault((node, token), len(tokens))
            if found == len(tokens):
                tokens.append(token)
                parents.append(node)
                depths.append(depth)
            places.append(node := found)
    visible = np.eye(len(tokens), dtype=np.bool_)
    for node, parent in enumerate(parents):
        if parent >= 0:
            visible[node] |= visible[parent]
    return PrefixTree(np.array(tokens), np.array(depths), visible, np.array(places))


def multiply_adds(n_tokens: int, n_pairs: int, parameters: int, config: Any) -> int:
    """Of one forward pass over so many tokens, and pairs of a query and a key: the parameters', and attention's."""
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return n_tokens * parameters + 2 * n_pairs * int(config.num_hidden_layers * config.num_attention_heads * head)


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cuda", vendor="cpu")
class PrefixTreeEngine(FSDPEngineWithLMHead):
    """``FSDPEngineWithLMHead``, which computes a prefix that several rows have in common once."""

    def prepare_model_inputs(self, micro_batch: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        tree = self._tree(micro_batch)
        if tree is None:
            inputs, rest = super().prepare_model_inputs(micro_batch)
            return inputs, rest
        inputs = {
            "input_ids": torch.from_numpy(tree.tokens)[None],
            "attention_mask": torch.from_numpy(tree.visible)[None, None],
            "position_ids": torch.from_numpy(tree.depths)[None],
        }
        return inputs, {"places": torch.from_numpy(tree.places)}

    def prepare_model_outputs(
        self, output: Any, output_args: dict[str, Any], micro_batch: Any, logits_processor_func: Any
    ) -> dict[str, Any]:
        places = output_args.get("places")
        if places is None:
            outputs: dict[str, Any] = super().prepare_model_outputs(
                output, output_args, micro_batch, logits_processor_func
            )
            return outputs
        # Autocast's bfloat16 has three digits: of a logsumexp of thousands of logits it leaves 0.1 of error.
        logits = output.logits.squeeze(0).float()
        if (temperature := float(micro_batch["temperature"])) != 1.0:
            logits = logits / temperature
        input_ids = micro_batch["input_ids"]
        following = torch.roll(input_ids.values(), shifts=-1)  # what comes after a row's end is masked, as in veRL
        log_probs = logits[places, following] - torch.logsumexp(logits, dim=-1)[places]
        found = {"log_probs": log_probs}
        if tu.get_non_tensor_data(micro_batch, "calculate_entropy", default=False):
            found["entropy"] = entropy_from_logits(logits)[places]
        offsets = input_ids.offsets()
        return {name: torch.nested.nested_tensor_from_jagged(values, offsets) for name, values in found.items()}

    def _tree(self, micro_batch: Any) -> PrefixTree | None:
        """The micro-batch's tree; None where veRL's own form is to be used."""
        config = self.model_config.hf_config
        input_ids, positions = micro_batch["input_ids"], micro_batch["position_ids"]
        longest = int(input_ids.offsets().diff().max())
        if (
            config.model_type not in MODELS
            or self.module.config._attn_implementation != "sdpa"
            or longest > (getattr(config, "sliding_window", None) or longest)
            or positions.dim() == 3
            or isinstance(micro_batch["temperature"], torch.Tensor)
            or tu.get_non_tensor_data(micro_batch, "use_remove_padding", default=True)
            or any(tu.get_non_tensor_data(micro_batch, flag, default=False) for flag in FLAGS)
        ):
            return None
        rows = [row.tolist() for row in input_ids.unbind()]
        tree = prefix_tree(rows)
        parameters = sum(parameter.numel() for parameter in self.module.parameters())
        padded = multiply_adds(len(rows) * longest, len(rows) * longest**2, parameters, config)
        return tree if multiply_adds(tree.tokens.size, tree.tokens.size**2, parameters, config) < padded else None
