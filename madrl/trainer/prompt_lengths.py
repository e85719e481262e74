"""Prompts that are longer than a run's limit, found before it starts.

veRL drops them with ``data.filter_overlong_prompts``, from the training and the validation files alike, and otherwise
cuts off their beginning; either way a line in its log is all that one sees. Training prompts may be dropped, and the
number is said. A validation prompt never is: its file is a fixed set of problems. Of the holdout, which vLLM samples
without veRL, long prompts are sampled whole, and their number is said, unless the model's context is too short.

Images, audio and a dataset class of the user's own (``data.custom_cls``) are not covered.
"""

import contextlib
import heapq
import io
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf
from verl.tools.tool_registry import load_all_tools
from verl.utils.tokenizer import hf_tokenizer, normalize_token_ids

from madrl.errors import MadrlError
from madrl.prompts import asking_for, load_naming
from madrl.schema import Message
from madrl.trainer.compose import files_of, holdout_files
from madrl.trainer.context import context_length

HINTED_LOOKED_AT = 32
"""How many of the longest training prompts are tried with each hint, which makes all of them about as much longer."""


def check_prompt_lengths(config: DictConfig) -> None:
    """Print how many training prompts are left out, and how many of the holdout are longer. Raises MadrlError, with
    their number, the file and the row of the longest, and the length that would hold them, when validation prompts
    would be left out, when any prompt would be cut off, hinted ones included, when there is no whole training batch,
    and when a prompt of the holdout leaves no room for a response in the model's context."""
    data = config.data
    if data.custom_cls.path is not None:
        return
    tokenizer = _tokenizer(config.actor_rollout_ref.model)
    limit, filtered = int(data.max_prompt_length), bool(data.filter_overlong_prompts)
    options = _template_options(data)
    for kind, files in (
        ("validation", files_of(data.val_files)),
        ("training", files_of(data.train_files)),
        ("holdout", holdout_files(config)),
    ):
        lengths = [
            (length, f"{path} row {row}")
            for path in files
            for row, length in enumerate(prompt_lengths(path, tokenizer, options))
        ]
        overlong = sum(length > limit for length, _ in lengths)
        drawn = min(len(lengths), data.train_max_samples) if data.train_max_samples > 0 else len(lengths)
        if kind == "training" and drawn < data.train_batch_size:  # veRL would divide by the 0 steps of an epoch
            raise MadrlError(
                f"data.train_batch_size={data.train_batch_size}: there are only {drawn} training prompts; set it to "
                "that or less, or prepare more"
            )
        if not overlong:
            continue
        most, where = max(lengths)
        found = (
            f"{overlong} of {len(lengths)} {kind} prompts are longer than data.max_prompt_length={limit} tokens (the "
            f"longest, {where}, has {most})"
        )
        if kind == "holdout":
            _check_context(config, most, where)
            print(f"{found} and are sampled whole", flush=True)
            continue
        if kind == "validation" or not filtered:
            fate = "leave them out" if filtered else "cut off their beginning"
            raise MadrlError(
                f"{found}; veRL would {fate} without a word: set data.max_prompt_length={most}, or prepare the data "
                "without them"
            )
        if len(lengths) - overlong < data.train_batch_size:
            raise MadrlError(
                f"{found}, which leaves less than one batch of data.train_batch_size={data.train_batch_size}: set "
                f"data.max_prompt_length={most}"
            )
        print(f"{found} and are left out", flush=True)
    if config.madrl.hints:
        _check_hinted(config, tokenizer, options)


def prompt_lengths(path: str, tokenizer: Any, options: dict[str, Any]) -> list[int]:
    """The length in tokens of each prompt of a parquet file, as veRL counts it."""
    return [_length(messages, tokenizer, options) for messages in _prompts_of(path)]


def _check_context(config: DictConfig, longest: int, where: str) -> None:
    model, response = config.actor_rollout_ref.model, config.data.max_response_length
    try:
        context = context_length(model.path, trust_remote_code=model.trust_remote_code)
    except (OSError, ValueError) as error:
        raise _not_a_model("config", model.path, error) from error
    if context is not None and longest + response > context:
        raise MadrlError(
            f"the longest holdout prompt, {where}, has {longest} tokens, which leaves no room for "
            f"data.max_response_length={response} more in the model's context of {context}: prepare the data without "
            "it, or set a smaller data.max_response_length"
        )


def _check_hinted(config: DictConfig, tokenizer: Any, options: dict[str, Any]) -> None:
    """Raises MadrlError when one of the longest training prompts, asked for a category, would be cut off."""
    naming = load_naming(config.madrl.naming)
    limit, room = config.data.max_prompt_length, config.actor_rollout_ref.rollout.prompt_length
    rows = [
        row
        for path in files_of(config.data.train_files)
        for row in pq.read_table(path, columns=["prompt", "reward_model"]).to_pylist()
    ]
    fitting = [(length, row) for row in rows if (length := _length(row["prompt"], tokenizer, options)) <= limit]
    longest = [row for _, row in heapq.nlargest(HINTED_LOOKED_AT, fitting, key=itemgetter(0))]
    named = [
        asking_for(category, row["prompt"], row["reward_model"]["ground_truth"], naming)
        for row in longest
        for category in config.madrl.categories
    ]
    found = max(_length(messages, tokenizer, options) for messages in named)
    if found > room:
        raise MadrlError(
            f"a training prompt that asks for a category (madrl.hints) has {found} tokens, more than "
            f"actor_rollout_ref.rollout.prompt_length={room}: veRL would cut off its beginning; set that to {found}"
        )


def _prompts_of(path: str) -> list[list[Message]]:
    found: list[list[Message]] = pq.read_table(path, columns=["prompt"]).column("prompt").to_pylist()
    return found


def _length(messages: Sequence[Message], tokenizer: Any, options: dict[str, Any]) -> int:
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, **options)
    return len(normalize_token_ids(ids))


def _tokenizer(model: DictConfig) -> Any:
    path = model.tokenizer_path or model.path
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            tokenizer = hf_tokenizer(path, trust_remote_code=model.trust_remote_code)
    except (OSError, ValueError) as error:
        raise _not_a_model("tokenizer", path, error) from error
    return tokenizer


def _not_a_model(part: str, path: str, error: Exception) -> MadrlError:
    why = str(error).splitlines()[0]
    return MadrlError(f"cannot load the {part} of {path!r} ({why}): set paths.model, or a recipe's MODEL, to a model")


def _template_options(data: DictConfig) -> dict[str, Any]:
    """The arguments that veRL's length filter passes to the chat template."""
    given = OmegaConf.to_container(data.apply_chat_template_kwargs, resolve=True)
    assert isinstance(given, dict)
    options = {
        str(key): value for key, value in given.items() if key not in ("tokenize", "return_dict", "return_tensors")
    }
    tools = load_all_tools(tool_config_path=data.tool_config_path, function_tool_path=data.function_tool_path)
    if tools:
        options["tools"] = [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in tools]
    return options
