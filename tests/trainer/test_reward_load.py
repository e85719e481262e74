"""A whole step's programs at once on the real reward manager and the real sandbox, with no model in sight."""

import asyncio
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from sandbox_service import Service
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

from madrl.grading.programs.program import URLS_VARIABLE, default_client
from madrl.rollout import Grade
from madrl.settings import Settings
from madrl.trainer.compose import compose
from madrl.trainer.group_loop import Arrival, group_data
from madrl.trainer.replay_buffer import batch_metrics
from madrl.trainer.reward_manager import GRADE, STAGE, MadRewardManager

pytestmark = [pytest.mark.verl(group="test_reward_load"), pytest.mark.sandbox, pytest.mark.slow, pytest.mark.nightly]

GROUPS, GROUP_SIZE = 64, 16
TESTS = [{"input": "7 " + "7" * 200_000 + "\n", "output": "14\n"}]
"""200 kB, so that 1,024 request bodies would be 200 MB if they were made at once, or kept."""

MAX_GROWTH_MIB = 50


class Characters:
    """One token per character."""

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids.tolist()))


def group(number: int) -> list[Arrival]:
    """16 different programs, half of them wrong; no two groups share one, so that nothing is answered from a cache."""
    row = {
        "uid": str(number),
        "data_source": "code_contests_train",
        "reward_model": {"style": "rule", "ground_truth": json.dumps({"tests": TESTS})},
        "extra_info": {"index": number, "split": "train"},
    }
    arrivals = []
    for i in range(GROUP_SIZE):
        code = f"n = int(input().split()[0])\nprint({2 + i % 2} * n)  # {number}.{i}\n"
        ids = [ord(c) for c in f"```python\n{code}```"]
        output = AgentLoopOutput(
            prompt_ids=[1], response_ids=ids, response_mask=[1] * len(ids), metrics=AgentLoopMetrics()
        )
        arrivals.append(Arrival(output, row))
    return arrivals


@pytest.fixture
def service(own_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    running = own_service()
    monkeypatch.setenv(URLS_VARIABLE, running.url)
    monkeypatch.setattr(
        "madrl.grading.programs.program.DEADLINE_S", 3600.0
    )  # 1,024 programs took 362 s on a loaded machine
    default_client.cache_clear()
    yield running
    default_client.cache_clear()


@pytest.fixture
def traced_memory() -> Iterator[None]:
    """Counted by Python: in the resident size is also what the allocator keeps of freed memory, which is chance."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced_memory")
async def test_1024_queued_rollouts_stay_bounded_and_survive_a_restart_of_the_sandbox(service: Service) -> None:
    config = compose(["task=code_contests", "madrl.target=peak", "trainer.experiment_name=x"])
    manager = MadRewardManager(config, Characters())
    groups = [group(number) for number in range(GROUPS)]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]

    async def grade(arrivals: Sequence[Arrival]) -> list[Grade]:
        return list((await manager.run_single(group_data(arrivals, {STAGE: GRADE})))["grades"])

    step = asyncio.gather(*map(grade, groups))
    restarted = False
    while not step.done():
        await asyncio.sleep(0.05)
        if not restarted and 0 < manager.reward.grader.in_progress < 0.9 * GROUPS * GROUP_SIZE:
            restarted = True
            await asyncio.to_thread(service.kill)
            await asyncio.to_thread(service.start)
    graded = await step
    grown_mib = (tracemalloc.get_traced_memory()[1] - before) / 2**20

    assert restarted
    verdicts = Counter((i % 2, j.correctness, j.category) for found in graded for i, j in enumerate(found))
    assert verdicts == {(0, True, "python"): 512, (1, False, "python"): 512}
    assert grown_mib < MAX_GROWTH_MIB
    # The first verdicts may be there before the last programs have come.
    assert max(j.queued for found in graded for j in found) > 0.9 * GROUPS * GROUP_SIZE

    scored = await manager.run_single(group_data(groups[0], {}, graded[0]))
    records: list[dict[str, Any]] = [
        {"group": "0", "reward": r, "truncated": False, **info}
        for r, info in zip(scored["reward_score"], scored["reward_extra_info"], strict=True)
    ]
    node: Any = OmegaConf.to_container(config.madrl)
    assert batch_metrics(records, Settings.from_config(node))["mad/reward_queue/max"] >= GROUP_SIZE
    await default_client().aclose()
