"""A hinted session, without an engine: what is sampled from which prompt, and what goes on to the trainer."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, _agent_loop_registry
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.utils.tensordict_utils import assign_non_tensor_data, get_tensordict
from verl.workers.rollout.replica import TokenOutput

from madrl.errors import MadrlError
from madrl.hints import HINT_COLUMN
from madrl.miniature.model import build_tokenizer
from madrl.prompts import in_language
from madrl.trainer.compose import compose
from madrl.trainer.group_loop import GroupAgentLoopManager
from madrl.trainer.hinted_loop import HINTED_LOOP, HintedAgentLoop

PLAIN = "What is $1 + 2$?"
RESPONSE = [11, 12, 13]
OWN_LOG_PROBS = [-0.1, -0.2, -0.3]


def config(*changes: str) -> DictConfig:
    return compose(
        ["task=math", "profile=tiny", "trainer.experiment_name=x", "paths.model=x", "madrl.hints=2", *changes]
    )


def log_prob_of(position: int) -> float:
    """What the engine below gives the token at a position of a prompt."""
    return -float(position)


class Engine:
    """Answers RESPONSE, and with a prompt's log probabilities in veRL's own form where it is asked for them."""

    def __init__(self) -> None:
        self.requests: list[tuple[list[int], dict[str, Any]]] = []

    async def generate(self, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> TokenOutput:
        self.requests.append((prompt_ids, sampling_params))
        rows = [[log_prob_of(position)] for position in range(1, len(prompt_ids))]
        extra = {"prompt_logprobs": [*rows, [0.0]]} if "prompt_logprobs" in sampling_params else {}
        return TokenOutput(
            token_ids=RESPONSE, log_probs=OWN_LOG_PROBS if sampling_params.get("logprobs") else None, extra_fields=extra
        )


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([f"user\n{PLAIN}\nassistant\n7", in_language(PLAIN, "fr")], 400)


def loop_of(engine: Engine, tokenizer: Any) -> HintedAgentLoop:
    found = config()
    return HintedAgentLoop(
        trainer_config=DictConfigWrap(found),
        server_manager=engine,
        tokenizer=tokenizer,
        processor=None,
        dataset_cls=None,
        data_config=DictConfigWrap(found.data),
    )


async def run(engine: Engine, tokenizer: Any, logprobs: bool) -> Any:
    row: dict[str, Any] = {"raw_prompt": [{"role": "user", "content": PLAIN}], HINT_COLUMN: "fr", "uid": "p"}
    row["reward_model"] = {"ground_truth": "7"}
    return await loop_of(engine, tokenizer).run({"temperature": 1.0, "logprobs": logprobs}, **row)


def ids_of(tokenizer: Any, text: str) -> list[int]:
    turns = [{"role": "user", "content": text}]
    return list(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True, return_dict=False))


async def test_the_response_is_sampled_from_the_hinted_prompt_and_trained_under_the_plain_one(tokenizer: Any) -> None:
    engine = Engine()
    output = await run(engine, tokenizer, logprobs=True)
    plain = ids_of(tokenizer, PLAIN)
    (asked, _), (scored, request) = engine.requests
    assert asked == ids_of(tokenizer, in_language(PLAIN, "fr")) != plain
    assert scored == [*plain, *RESPONSE]
    assert request == {"max_tokens": 1, "temperature": 1.0, "prompt_logprobs": 0, "detokenize": False, "seed": 0}
    assert (output.prompt_ids, output.response_ids, output.response_mask) == (plain, RESPONSE, [1, 1, 1])
    assert output.response_logprobs == [log_prob_of(len(plain) + i) for i in range(3)]


async def test_no_log_probabilities_are_asked_for_where_the_run_uses_none(tokenizer: Any) -> None:
    engine = Engine()
    output = await run(engine, tokenizer, logprobs=False)
    assert len(engine.requests) == 1
    assert output.response_logprobs is None
    assert output.prompt_ids == ids_of(tokenizer, PLAIN)


def test_verl_s_workers_find_the_loop_by_its_name() -> None:
    assert _agent_loop_registry[HINTED_LOOP] == {"_target_": "madrl.trainer.hinted_loop.HintedAgentLoop"}


def manager(monkeypatch: pytest.MonkeyPatch, lacking: str | None) -> tuple[GroupAgentLoopManager, list[TensorDict]]:
    """A manager of which ``lacking`` is the category that lacks at step 5, and the batches that it hands on to veRL."""
    sent: list[TensorDict] = []
    monkeypatch.setattr(AgentLoopManagerTQ, "generate_sequences", lambda self, prompts: sent.append(prompts))
    found = GroupAgentLoopManager.__new__(GroupAgentLoopManager)  # without workers
    asked = {5: SimpleNamespace(lacking={5: lacking}.__getitem__)}
    found._shares = SimpleNamespace(before=asked.__getitem__)  # type: ignore[assignment]
    found._step, found._submitted = -1, Counter()
    return found, sent


def batch(**columns: Any) -> TensorDict:
    questions = [[{"role": "user", "content": f"question {row}"}] for row in range(4)]
    rows = {"data_source": ["math"] * 4, "index": list(range(4)), "raw_prompt": questions}
    prompts = get_tensordict({"row": torch.arange(4)} | rows)
    assign_non_tensor_data(prompts, "global_steps", 5)
    for name, value in columns.items():
        if isinstance(value, list):
            prompts[name] = value
        else:
            assign_non_tensor_data(prompts, name, value)
    return prompts


@pytest.mark.parametrize("lacking", ["fr", None])
def test_a_training_batch_is_told_what_to_ask_for_and_so_is_each_chunk_of_it(
    monkeypatch: pytest.MonkeyPatch, lacking: str | None
) -> None:
    found, sent = manager(monkeypatch, lacking)
    found.generate_sequences(batch())
    assert [chunk[HINT_COLUMN] for chunk in sent[0].chunk(2)] == [lacking or ""] * 2


def test_validation_is_never_hinted_nor_a_run_without_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    found, sent = manager(monkeypatch, "fr")
    found.generate_sequences(batch(validate=True))
    found._shares = None
    found.generate_sequences(batch())
    assert all(HINT_COLUMN not in prompts for prompts in sent)


def test_a_row_with_an_agent_loop_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found, sent = manager(monkeypatch, "fr")
    found.generate_sequences(batch(agent_name=["single_turn_agent"] * 4))
    with pytest.raises(MadrlError, match=r"agent_name='tool_agent' in the data with madrl\.hints"):
        found.generate_sequences(batch(agent_name=["single_turn_agent", "tool_agent"] * 2))
    assert len(sent) == 1


REFUSED = [
    (["actor_rollout_ref.rollout.n=4", "madrl.hints=2"], None),
    (["madrl.hints=8"], "madrl.hints=8 in groups of actor_rollout_ref.rollout.n=16: half of a group or more"),
    (["actor_rollout_ref.rollout.n=2"], "rollout.n=2: half of a group or more"),
    (["actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent"], "only single_turn_agent can be hinted"),
    (["actor_rollout_ref.rollout.temperature=0.8"], "rollout.temperature=0.8: .* at temperature 1 only"),
    (["actor_rollout_ref.rollout.enable_rollout_routing_replay=true"], "enable_rollout_routing_replay=true"),
    (["actor_rollout_ref.rollout.max_model_len=150"], "max_model_len=150 with madrl.hints=2: .* 203 tokens; set that"),
    (["madrl.naming=null"], "set madrl.naming"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_what_a_run_with_hints_cannot_have_is_refused(changes: list[str], message: str | None) -> None:
    if message is None:
        assert config(*changes).madrl.hints == 2
        return
    with pytest.raises(MadrlError, match=message):
        config(*changes)


def test_at_another_temperature_a_run_can_go_without_the_engine_s_log_probabilities() -> None:
    assert config(
        "actor_rollout_ref.rollout.temperature=0.8",
        "actor_rollout_ref.rollout.calculate_log_probs=false",
        "algorithm.rollout_correction.bypass_mode=false",
    ).madrl.hints


def test_the_engine_takes_prompts_that_are_longer_by_a_hint_and_training_does_not() -> None:
    languages = "madrl.categories=[hi,fr,zh]"
    hinted, plain = config(languages), config(languages, "madrl.hints=0")
    # Each byte of "\n\nSolve it in Chinese: write the whole solution in Chinese." is a token at most: 59.
    for key in ("prompt_length", "max_model_len"):
        assert hinted.actor_rollout_ref.rollout[key] == plain.actor_rollout_ref.rollout[key] + 59
    assert hinted.data == plain.data
    assert plain.actor_rollout_ref.rollout.prompt_length == plain.data.max_prompt_length == 64
