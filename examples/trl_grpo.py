"""MaD-RL's reward inside TRL's GRPOTrainer: greetings, a third in each language, of a model that TRL trains.

    pip install . trl==1.16.0 torch && python examples/own_task/prepare.py
    python examples/trl_grpo.py MODEL [STEPS]          (MODEL: a name, or a folder, as outputs/models/greeting/model)

TRL gives a reward function flat lists: prompts, completions and the data's other columns, here veRL's, in which the
responses to one prompt follow each other. The lists are those of one process. They hold whole groups if it generates a
multiple of GROUP responses (per_device_train_batch_size * steps_per_generation), which TRL itself does not ask for.
"""

import asyncio
import sys
from pathlib import Path

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import madrl

TASK, GROUP = Path(__file__).parent / "own_task", 8
sys.path.insert(0, str(TASK))  # where greeting.py lies
LANGUAGES = ["english", "spanish", "french"]
group_reward = madrl.GroupReward(
    categories=LANGUAGES, classifier="greeting:classify", verifier="greeting:verify",
    calibrate=True,  # for GRPO's update: without it a target that is not uniform, as this one is, starves the rare ones
)  # fmt: skip


async def target_mix(prompts, completions, reward_model, extra_info, log_metric, **_):
    """The reward of each completion, in their order; None, which TRL leaves out of everything, if it is ungraded."""
    groups = [slice(start, start + GROUP) for start in range(0, len(prompts), GROUP)]
    if any(prompts[group] != [prompts[group.start]] * GROUP for group in groups):
        raise ValueError(f"a process has a part of a group: let each generate a multiple of {GROUP} responses")
    texts = [messages[-1]["content"] for messages in completions]  # conversational, as the prompts are
    truths = [column["ground_truth"] for column in reward_model]
    rollouts = list(map(madrl.Rollout, texts, truths, extra_info))
    scores = await asyncio.gather(*(group_reward(rollouts[group]) for group in groups))
    for i, language in enumerate(LANGUAGES):
        log_metric(language, sum(score.frequency[i] for score in scores) / len(scores))
    graded = [pair for score in scores for pair in zip(score.reward.tolist(), score.grades, strict=True)]
    return [reward if grade.classified and grade.correctness is not None else None for reward, grade in graded]


if __name__ == "__main__":
    config = GRPOConfig(  # the learning rate is one for a miniature; TRL's own is 1e-6
        output_dir="outputs/trl", max_steps=int(sys.argv[2]) if len(sys.argv) > 2 else 40, learning_rate=1e-3,
        num_generations=GROUP, per_device_train_batch_size=8 * GROUP, max_completion_length=16, logging_steps=1,
        save_strategy="no", report_to="none", bf16=torch.cuda.is_available(), seed=42,
    )  # fmt: skip
    GRPOTrainer(sys.argv[1], target_mix, config, Dataset.from_parquet(str(TASK / "data" / "train.parquet"))).train()
