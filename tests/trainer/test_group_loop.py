"""Seeds, the data that reward workers are given, and the reward manager's answers. No trainer, no Ray cluster."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, _agent_loop_registry
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.trainer.ppo.v1.agent_loop_tq import logger as verl_logger
from verl.utils.tensordict_utils import assign_non_tensor_data, get_tensordict
from verl.workers.rollout.llm_server import FullyAsyncLLMServerClient, LLMServerClient
from verl.workers.rollout.replica import TokenOutput

from madrl.errors import MadrlError
from madrl.frequency import category_indices
from madrl.grading.choice import choice_ground_truth
from madrl.grading.plugins import PluginError
from madrl.hints import HINT_COLUMN
from madrl.reward import score_group
from madrl.rollout import Classification, Grade, Rollout, Verification
from madrl.trainer.compose import compose
from madrl.trainer.group_loop import (
    AGAIN_COLUMN,
    Arrival,
    GroupAgentLoopManager,
    GroupAgentLoopWorker,
    group_data,
    session_seed,
    without_its_traceback,
)
from madrl.trainer.hinted_loop import HINTED_LOOP
from madrl.trainer.prompt_group import PromptGroup
from madrl.trainer.reward_manager import GRADE, STAGE, STEP, MadRewardManager
from madrl.trainer.seeded_requests import SEEDED
from madrl.trainer.verl_settings import SEED_PARAMETER

OPTIONS = ("Arctic", "Atlantic", "Indian", "Pacific", "Southern")


class WordTokenizer:
    """One token per word; 0 is padding and would decode to a word that no response contains."""

    words = ("<pad>", *OPTIONS, "and", "nothing")

    def encode(self, text: str) -> list[int]:
        return [self.words.index(word) for word in text.split()]

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool) -> str:
        assert skip_special_tokens
        return " ".join(self.words[i] for i in ids.tolist())


def arrivals(*responses: str, uid: str = "p") -> list[Arrival]:
    row = {
        "uid": uid,
        "data_source": "synthetic_closed_train",
        "reward_model": {"style": "rule", "ground_truth": choice_ground_truth(OPTIONS)},
        "extra_info": {"index": 3, "split": "train"},
        "raw_prompt": [{"role": "user", "content": "Name an ocean."}],
    }
    tokenized = [WordTokenizer().encode(response) for response in responses]
    return [
        Arrival(
            AgentLoopOutput(
                prompt_ids=[1] * (i + 1), response_ids=ids, response_mask=[1] * len(ids), metrics=AgentLoopMetrics()
            ),
            row,
        )
        for i, ids in enumerate(tokenized)
    ]


@pytest.fixture(scope="module")
def manager() -> MadRewardManager:
    config = compose(["task=synthetic_closed", "madrl.target=peak", "trainer.experiment_name=x"])
    return MadRewardManager(config, WordTokenizer())


async def test_the_reward_manager_scores_a_group_as_score_group_does(manager: MadRewardManager) -> None:
    out = await manager.run_single(group_data(arrivals("Arctic", "Indian", "Indian", "nothing"), {"validate": False}))
    categories = ["rank_1", "rank_3", "rank_3", None]
    reward = manager.reward
    indices = category_indices(categories, reward.categories)
    expected = score_group(indices, [True, True, True, False], reward.target, reward.config)
    assert out["reward_score"] == expected.reward.tolist()
    assert [info["category"] for info in out["reward_extra_info"]] == categories
    assert [info["correct"] for info in out["reward_extra_info"]] == [1.0, 1.0, 1.0, 0.0]


async def test_grading_first_and_scoring_later_gives_what_one_call_gives(manager: MadRewardManager) -> None:
    group = arrivals("Arctic", "Indian and Pacific", "Southern")
    grades: list[Grade] = []
    for part in (group[:1], group[1:]):
        grades += (await manager.run_single(group_data(part, {STAGE: GRADE})))["grades"]
    later = await manager.run_single(group_data(group, {"validate": False}, grades))
    at_once = await manager.run_single(group_data(group, {"validate": False}))
    for info in (*later["reward_extra_info"], *at_once["reward_extra_info"]):
        info.pop("queued")  # how many came together
    assert later == at_once


async def test_every_response_of_a_group_returns_the_same_keys(manager: MadRewardManager) -> None:
    for validate in (False, True):
        data = group_data(arrivals("Arctic", "nothing"), {"validate": validate})
        infos = (await manager.run_single(data))["reward_extra_info"]
        assert infos[0].keys() == infos[1].keys()
        assert ("share/rank_1" in infos[0]) is validate


async def test_a_hinted_response_is_marked_rewarded_and_not_counted(manager: MadRewardManager) -> None:
    group = arrivals("Arctic", "Indian", "Indian", "Pacific")
    hints = ["", "", "", "rank_4"]
    marked = [Arrival(a.output, {**a.row, HINT_COLUMN: hint}) for a, hint in zip(group, hints, strict=True)]
    out = await manager.run_single(group_data(marked, {"validate": False}))
    indices = category_indices(["rank_1", "rank_3", "rank_3", "rank_4"], manager.reward.categories)
    marks = np.array([False, False, False, True])
    expected = score_group(indices, [True] * 4, manager.reward.target, manager.reward.config, marks)
    assert out["reward_score"] == expected.reward.tolist()
    assert [info["hinted"] for info in out["reward_extra_info"]] == [None, None, None, "rank_4"]
    plain = await manager.run_single(group_data(group, {"validate": False}))
    assert plain["reward_score"] != out["reward_score"]
    assert all("hinted" not in info for info in plain["reward_extra_info"])


def with_target(group: list[Arrival], **extra_info: str | None) -> list[Arrival]:
    return [Arrival(a.output, {**a.row, "extra_info": {**a.row["extra_info"], **extra_info}}) for a in group]


@pytest.mark.parametrize("validate", [False, True])
async def test_a_prompt_is_scored_by_its_own_target_which_the_dumps_get_as_text(
    manager: MadRewardManager, validate: bool
) -> None:
    group = with_target(
        arrivals("Arctic", "Indian", "Pacific"), target='{"rank_1": 3, "rank_3": 1}', categories='["rank_1", "rank_3"]'
    )
    out = await manager.run_single(group_data(group, {"validate": validate}))
    expected = score_group(np.array([0, 1, -1]), [True] * 3, np.array([0.75, 0.25]), manager.reward.config)
    assert out["reward_score"] == expected.reward.tolist()
    assert [info["target"] for info in out["reward_extra_info"]] == ['{"rank_1": 0.75, "rank_3": 0.25}'] * 3
    assert [info["category"] for info in out["reward_extra_info"]] == ["rank_1", "rank_3", None]
    assert "'rank_4' is none of this prompt's" in out["reward_extra_info"][2]["reason"]


async def test_a_row_without_a_target_among_others_has_none_by_name_and_a_file_without_any_no_such_key(
    manager: MadRewardManager,
) -> None:
    plain = arrivals("Arctic", "Indian")
    among_others = await manager.run_single(group_data(with_target(plain, target=None), {"validate": True}))
    alone = await manager.run_single(group_data(plain, {"validate": True}))
    assert among_others["reward_score"] == alone["reward_score"]
    assert [info["target"] for info in among_others["reward_extra_info"]] == [None, None]
    assert all("target" not in info for info in alone["reward_extra_info"])


async def test_a_scheduled_target_is_that_of_the_step_and_of_validation_the_last() -> None:
    schedule = "madrl.target_schedule=[{step: 0, target: uniform}, {step: 10, target: {rank_1: 1}}]"
    manager = MadRewardManager(
        compose(["task=synthetic_closed", "trainer.experiment_name=x", schedule]), WordTokenizer()
    )
    group, indices = arrivals("Arctic", "Indian"), np.array([0, 2])
    last = [1.0, 0.0, 0.0, 0.0, 0.0]
    for step, validate, target in ((5, False, [0.6, 0.1, 0.1, 0.1, 0.1]), (30, False, last), (5, True, last)):
        out = await manager.run_single(group_data(group, {"validate": validate, STEP: step}))
        expected = score_group(indices, [True] * 2, np.array(target), manager.reward.config)
        assert out["reward_score"] == pytest.approx(expected.reward.tolist(), abs=1e-12)
        info = out["reward_extra_info"][0]
        assert ("target" in info) is not validate
        assert validate or list(json.loads(info["target"]).values()) == pytest.approx(target)


async def test_padding_is_not_read_as_part_of_a_response(manager: MadRewardManager) -> None:
    rollouts = manager.rollouts(group_data(arrivals("Arctic and Indian", "Pacific"), {}))
    assert [r.response for r in rollouts] == ["Arctic and Indian", "Pacific"]


async def test_a_tool_s_output_is_not_read_as_what_the_model_wrote(manager: MadRewardManager) -> None:
    called_a_tool, plain = arrivals("Arctic and Indian Pacific nothing", "Southern and Southern and")
    called_a_tool.output.response_mask = [1, 1, 0, 0, 1]  # the tool said: Indian Pacific
    data = group_data([called_a_tool, plain], {})
    assert [r.response for r in manager.rollouts(data)] == ["Arctic and\nnothing", "Southern and Southern and"]
    categories = [info["category"] for info in (await manager.run_single(data))["reward_extra_info"]]
    assert categories == ["rank_1", "rank_5"]  # with the tool's words the first would name three options


async def test_a_response_that_holds_nothing_of_the_model_is_empty(manager: MadRewardManager) -> None:
    silent, plain = arrivals("Arctic", "Pacific and Pacific")
    silent.output.response_mask = [0]
    assert [r.response for r in manager.rollouts(group_data([silent, plain], {}))] == ["", "Pacific and Pacific"]


async def test_what_is_equal_in_a_group_has_a_deviation_of_exactly_zero(manager: MadRewardManager) -> None:
    """Which is how veRL's DAPO filter knows a group to drop."""
    for option in OPTIONS:
        for size in (8, 24, 48):
            out = await manager.run_single(group_data(arrivals(*[option] * size), {"validate": False}))
            for metric in ("divergence_reward", "correctness"):
                assert np.std([info[metric] for info in out["reward_extra_info"]]) == 0.0, (option, size, metric)


async def test_a_response_without_siblings_moves_nothing(manager: MadRewardManager) -> None:
    out = await manager.run_single(group_data(arrivals("Arctic"), {"validate": False}))
    assert out["reward_score"] == [0.0]


async def test_an_ungraded_response_is_neither_right_nor_wrong(manager: MadRewardManager) -> None:
    grades = [Grade("rank_3", 1.0), Grade("rank_4", None, reason="the grade is down")]
    out = await manager.run_single(group_data(arrivals("Indian", "Pacific"), {"validate": False}, grades))
    assert [info["correct"] for info in out["reward_extra_info"]] == [1.0, None]
    assert [info["correctness"] for info in out["reward_extra_info"]] == [1.0, 1.0]


async def down(rollout: Rollout) -> Verification:
    raise ConnectionError("the service is down")


def fussy(rollout: Rollout) -> Classification:
    if rollout.response == "nothing":
        raise ValueError("no words for that")
    return Classification("rank_3" if rollout.response == "Indian" else "rank_9")


async def unsure(rollout: Rollout) -> Any:
    return 1.0 if rollout.response == "Indian" else "right"


def manager_with(kind: str, function: Callable[..., Any]) -> MadRewardManager:
    """A reward manager with one plug-in of the user's own."""
    own = f"madrl.{kind}={__name__}:{function.__name__}"
    return MadRewardManager(compose(["task=synthetic_closed", "trainer.experiment_name=x", own]), WordTokenizer())


async def test_a_verifier_that_raises_leaves_the_response_ungraded() -> None:
    manager = manager_with("verifier", down)
    out = await manager.run_single(group_data(arrivals("Indian", "Pacific"), {"validate": False}))
    assert [info["correct"] for info in out["reward_extra_info"]] == [None, None]
    assert out["reward_extra_info"][0]["reason"] == "verifier raised ConnectionError: the service is down"


@pytest.mark.parametrize("validate", [False, True])
async def test_a_classifier_that_raises_leaves_the_category_ungraded(validate: bool) -> None:
    manager = manager_with("classifier", fussy)
    out = await manager.run_single(group_data(arrivals("Indian", "nothing", "Indian"), {"validate": validate}))
    lost = out["reward_extra_info"][1]
    assert (lost["category"], lost["classified"]) == (None, False)
    assert lost["reason"] == "classifier raised ValueError: no words for that"
    assert [info["classified"] for info in out["reward_extra_info"]] == [None, False, None], "null is true"
    divergence = [info["divergence_reward"] for info in out["reward_extra_info"]]
    assert divergence == [divergence[0]] * 3, "the mean of the two others"
    if validate:
        assert [info["share/rank_3"] for info in out["reward_extra_info"]] == [1.0, None, 1.0]


@pytest.mark.parametrize(
    ("kind", "function", "response", "message"),
    [
        ("classifier", fussy, "Pacific", f"classifier {__name__}:fussy: category 'rank_9' is not declared"),
        ("verifier", unsure, "Pacific", f"verifier {__name__}:unsure returned 'right', a str: return True or False"),
    ],
)
async def test_a_plug_in_s_mistake_with_one_response_spares_its_siblings(
    kind: str, function: Callable[..., Any], response: str, message: str
) -> None:
    data = group_data(arrivals("Indian", response), {STAGE: GRADE})
    graded = (await manager_with(kind, function).run_single(data))["grades"]
    assert (graded[0].category, graded[0].correctness) == ("rank_3", 1.0)
    assert isinstance(graded[1], PluginError)
    assert str(graded[1]).startswith(message)


def test_a_session_that_a_plug_in_s_mistake_ends_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    mistake, other = PluginError("classifier mine returned 1, an int"), ValueError("something else")
    verl_logger.addFilter(without_its_traceback)
    try:
        for error in (mistake, other):
            verl_logger.error("Error in _run_prompt for uid=p", exc_info=(type(error), error, error.__traceback__))
    finally:
        verl_logger.removeFilter(without_its_traceback)
    assert [(r.getMessage(), bool(r.exc_info)) for r in caplog.records] == [
        ("Error in _run_prompt for uid=p: classifier mine returned 1, an int", False),
        ("Error in _run_prompt for uid=p", True),
    ]


async def test_two_prompts_in_one_call_are_refused(manager: MadRewardManager) -> None:
    data = group_data(arrivals("Arctic", uid="a") + arrivals("Indian", uid="b"), {"validate": False})
    with pytest.raises(ValueError, match="2 prompts at once"):
        await manager.run_single(data)


def test_a_target_that_names_no_category_stops_the_run_at_its_start() -> None:
    with pytest.raises(MadrlError, match="unknown category 'rank_9'"):
        compose(["task=synthetic_closed", "madrl.target={rank_9: 1}", "trainer.experiment_name=x"])


def seed_of(
    session: int, step: int = 1, validate: bool = False, run_seed: int = 42, text: str = "Name one.", index: int = 0
) -> int:
    prompt = [{"role": "user", "content": text}]
    row: dict[str, Any] = {"raw_prompt": prompt, "session_id": session, "data_source": "s", "index": index}
    return session_seed(run_seed, {"step": step, "validate": validate}, row)


def test_siblings_have_different_seeds() -> None:
    assert len({seed_of(session) for session in range(1000)}) == 1000


def test_a_seed_depends_on_the_run_the_step_the_prompt_and_the_phase_and_on_nothing_else() -> None:
    assert seed_of(3) == seed_of(3)
    others = {seed_of(3, step=2), seed_of(3, validate=True), seed_of(3, run_seed=1), seed_of(3, text="Name two.")}
    assert len({seed_of(3), *others}) == 5


def test_a_prompt_that_comes_again_within_a_step_is_sampled_with_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[TensorDict] = []
    monkeypatch.setattr(AgentLoopManagerTQ, "generate_sequences", lambda self, prompts: sent.append(prompts))
    manager = object.__new__(GroupAgentLoopManager)
    manager._shares, manager._step, manager._submitted = None, -1, Counter()
    for step, rows in ((1, [3, 4]), (1, [4]), (1, [4, 5]), (2, [4])):
        questions = [[{"role": "user", "content": f"q{row}"}] for row in rows]
        columns = {"index": rows, "data_source": ["s"] * len(rows), "raw_prompt": questions}
        batch = get_tensordict(columns | {"dummy": torch.zeros(len(rows), 1)})
        assign_non_tensor_data(batch, "global_steps", step)
        manager.generate_sequences(batch)
    again = [list(batch[AGAIN_COLUMN]) if AGAIN_COLUMN in batch else None for batch in sent]
    assert again == [None, [1], [2, 0], None]
    row = {"raw_prompt": [], "session_id": 0, "data_source": "s", "index": 4}
    trajectory = {"step": 1, "validate": False}
    seeds = [session_seed(42, trajectory, row, times) for times in (0, 1, 2)]
    assert len(set(seeds)) == 3
    assert seeds[0] == session_seed(42, trajectory, row), "what is sampled once is sampled as ever"


def test_two_rows_with_the_same_text_are_sampled_apart() -> None:
    assert seed_of(3, index=0) != seed_of(3, index=1)


def test_a_step_number_of_any_integer_type_gives_the_same_seed() -> None:
    assert seed_of(np.int64(3), step=np.int64(1)) == seed_of(3, step=1)  # type: ignore[arg-type]


def test_the_manager_can_be_run_from_an_event_loop_of_its_own() -> None:
    config = compose(["task=synthetic_closed", "trainer.experiment_name=x"])
    out = asyncio.run(
        MadRewardManager(config, WordTokenizer()).run_single(group_data(arrivals("Indian"), {STAGE: GRADE}))
    )
    assert out["grades"][0].category == "rank_3"


class RecordingLoop:
    """An agent loop that answers with the sampling parameters it was given."""

    def __init__(self, **_: Any) -> None:
        pass

    async def run(self, sampling_params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return sampling_params


class WorkerWithoutEngine(GroupAgentLoopWorker):
    """Runs an agent loop as veRL does, without the tokenizer, engine and queue that a worker of a run has."""

    def __init__(self, config: DictConfig, size: int = 1) -> None:
        self.config = config
        self.llm_client = self.tokenizer = self.processor = self.hf_model_type = self.dataset_cls = None
        self.tools: list[Any] = []
        self._groups = {"p": PromptGroup(size, self._grade, self._unused)}

    async def _unused(self, *_: Any) -> Any: ...

    async def _agent_loop_postprocess(self, output: dict[str, Any], validate: bool, **_: Any) -> dict[str, Any]:
        return output


@pytest.mark.parametrize(("engine", "parameter"), [("vllm", "seed"), ("sglang", "sampling_seed")])
async def test_a_request_carries_its_seed_under_the_name_that_the_engine_knows(
    engine: str, parameter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_agent_loop_registry, "recording", {"_target_": f"{__name__}.RecordingLoop"})
    config = compose(["task=synthetic_closed", "trainer.experiment_name=x", f"actor_rollout_ref.rollout.name={engine}"])
    row = {"uid": "p", "session_id": 3, "raw_prompt": [], "data_source": "s", "index": 0}
    trajectory = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": False}
    sent = await WorkerWithoutEngine(config)._run_agent_loop(
        {"temperature": 1.0}, trajectory, agent_name="recording", trace=False, **row
    )
    assert sent == {"temperature": 1.0, parameter: session_seed(config.seed, trajectory, row)}
    sent = await WorkerWithoutEngine(config)._run_agent_loop(
        {}, trajectory, agent_name="recording", trace=False, **row, **{AGAIN_COLUMN: 2}
    )
    assert sent == {parameter: session_seed(config.seed, trajectory, row, 2)}


class TurnsLoop:
    """An agent loop of two turns, each a request to the engine."""

    def __init__(self, server_manager: LLMServerClient, **_: Any) -> None:
        self.client = server_manager

    async def run(self, sampling_params: dict[str, Any], **_: Any) -> dict[str, Any]:
        for prompt in ([1], [1, 2, 3]):
            await self.client.generate(request_id="r", prompt_ids=prompt, sampling_params=sampling_params)
        return sampling_params


@pytest.mark.parametrize("client", [LLMServerClient, FullyAsyncLLMServerClient])
async def test_turns_and_what_goes_on_after_an_update_are_sampled_with_seeds_of_their_own(
    client: type[LLMServerClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    resumes = client is FullyAsyncLLMServerClient
    asked: dict[int, list[int]] = {3: [], 4: []}
    session: ContextVar[int] = ContextVar("session")

    async def answer(_: Any, request_id: str, *, sampling_params: dict[str, Any], **__: Any) -> TokenOutput:
        seeds = asked[session.get()]
        seeds.append(sampling_params["seed"])
        await asyncio.sleep(0)
        return TokenOutput(token_ids=[7], log_probs=None, stop_reason="aborted" if len(seeds) == 1 else "completed")

    async def at_once(_: float, sleep: Any = asyncio.sleep) -> None:
        await sleep(0)

    monkeypatch.setattr(LLMServerClient, "generate", answer)
    monkeypatch.setattr("verl.workers.rollout.llm_server.asyncio.sleep", at_once)
    monkeypatch.setitem(_agent_loop_registry, "turns", {"_target_": f"{__name__}.TurnsLoop"})
    config = compose(["task=synthetic_closed", "trainer.experiment_name=x"])
    worker = WorkerWithoutEngine(config, size=2)
    worker.llm_client = SEEDED[client](config)  # type: ignore[assignment]
    trajectory = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": False}
    row = {"uid": "p", "raw_prompt": [], "data_source": "s", "index": 0}

    async def run(number: int) -> None:
        session.set(number)
        here = {**row, "session_id": number}
        await worker._run_agent_loop({"max_tokens": 9}, trajectory, agent_name="turns", trace=False, **here)

    await asyncio.gather(run(3), run(4))
    for number, seeds in asked.items():
        assert seeds[0] == session_seed(config.seed, trajectory, {**row, "session_id": number})
        assert len(seeds) == 2 + resumes
    assert len({*asked[3], *asked[4]}) == 2 * (2 + resumes)


@pytest.mark.parametrize(
    ("session", "told", "ran"), [(13, "", "recording"), (14, "fr", HINTED_LOOP), (15, "fr", HINTED_LOOP)]
)
async def test_the_last_sessions_of_a_group_are_told_what_to_ask_for(
    session: int, told: str, ran: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, str]] = []

    async def run(_: Any, sampling: Any, trajectory: Any, *, agent_name: str, trace: bool, **row: Any) -> None:
        started.append((agent_name, row[HINT_COLUMN]))

    monkeypatch.setattr(GroupAgentLoopWorker.__base__, "_run_agent_loop", run)
    config = compose(["task=math", "profile=tiny", "trainer.experiment_name=x", "paths.model=x", "madrl.hints=2"])
    worker = WorkerWithoutEngine(config, size=16)
    row = {"uid": "p", "session_id": session, "raw_prompt": [], "data_source": "s", "index": 0}
    trajectory = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": False}
    await worker._run_agent_loop({}, trajectory, agent_name="recording", trace=False, **row, **{HINT_COLUMN: "fr"})
    # With nothing to ask for, all are as they are.
    await worker._run_agent_loop({}, trajectory, agent_name="recording", trace=False, **row, **{HINT_COLUMN: ""})
    assert started == [(ran, told), ("recording", "")]


def test_vllm_knows_a_request_s_seed_by_the_name_that_it_is_sent_under() -> None:
    from vllm import SamplingParams  # slow to import, and only needed here

    assert SamplingParams(**{SEED_PARAMETER["vllm"]: 7}).seed == 7


def test_a_worker_without_reward_workers_says_which_setting_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_reward_workers(self: GroupAgentLoopManager) -> None:
        self.reward_loop_worker_handles = None

    monkeypatch.setattr(AgentLoopManagerTQ, "__init__", without_reward_workers)
    with pytest.raises(ValueError, match=r"set reward\.reward_model\.enable=False"):
        GroupAgentLoopManager()
