"""The examples of one file each: what they print, and the reward inside the real TRL for two steps.

Those with a folder of their own have tests of their own: own_task, pronouns and chances.
"""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.metadata import PathDistribution, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from madrl.miniature.model import build_model, build_tokenizer, save

REPOSITORY = Path(__file__).parents[1]
EXAMPLES = REPOSITORY / "examples"
PAGE = (REPOSITORY / "docs" / "examples.md").read_text(encoding="utf-8")


def printed(name: str) -> str:
    """What an example prints, run as its docstring says."""
    command = [sys.executable, f"examples/{name}"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_group_s_rewards_are_those_worked_by_hand() -> None:
    lines = printed("group_reward.py").splitlines()
    # r_div = log(1/3) - log(n_c/8): n_c = 5 -0.63, n_c = 1 0.98. An off-support response gets the r_div of the least
    # wanted category with one more, log(1/3) - log(6/8) = -0.81, and at most -1. The reward is 0.7 correct + 0.3 r_div.
    assert [line.split()[-4:] for line in lines[1:9]] == [
        *[["english", "0.51", "1", "-0.63"]] * 4,
        ["english", "-0.19", "0", "-0.63"],
        ["spanish", "0.99", "1", "0.98"],
        ["french", "0.99", "1", "0.98"],
        ["None", "0.40", "1", "-1.00"],
    ]
    # On-support shares 5/7, 1/7, 1/7 against thirds, m = 11/21, 5/21, 5/21: half of
    # log(7/11)/3 + 2 log(7/5)/3 + 5/7 log(15/11) + 2/7 log(3/5) = -0.1507 + 0.2243 + 0.2215 - 0.1459 = 0.1492.
    assert lines[9:] == [
        "shares {'english': 0.625, 'spanish': 0.125, 'french': 0.125}, off-support 0.125",
        "JSD to the target 0.075 nats",
    ]


def test_an_episode_s_advantage_is_its_reward_less_the_group_s_mean() -> None:
    lines = printed("prime_rl_score_group.py").splitlines()
    # Rewards 0.7 correct + 0.3 r_div: r_div = log(1/3) - log(3/5) = -0.588 and log(1/3) - log(1/5) = 0.511. So 0.524,
    # 0.524, -0.176, 0.853, 0.853; mean 0.515.
    assert [float(line.split()[-4]) for line in lines] == [0.01, 0.01, -0.69, 0.34, 0.34]


async def test_only_tokens_that_the_model_sampled_in_trainable_traces_without_errors_get_credit() -> None:
    example = runpy.run_path(str(EXAMPLES / "prime_rl_score_group.py"))
    group = [example["episode"](reply) for reply in ("Hello", "Hello", "", "Anna", "Hello")]
    failed, frozen, silent = group[:3]
    failed.traces[0].ok = False
    frozen.traces[0].agent.trainable = False
    silent.traces[0].nodes.pop()
    reward = example["madrl"].GroupReward(
        categories=["named", "not"],
        classifier=lambda rollout: "named" if rollout.response == "Anna" else "not",
        verifier=lambda rollout: rollout.response == rollout.ground_truth,
        alpha=1,
    )
    await example["TargetMix"](reward).score_group(group)
    credit = [[node.advantages for node in one.traces[0].nodes] for one in group]
    # Of the two that count, one is correct: rewards 1 and 0, mean 0.5.
    assert credit == [[None, None], [None, None], [None], [None, [0.5, 0.5]], [None, [-0.5, -0.5]]]
    await example["TargetMix"](reward).score_group([failed])
    assert failed.traces[0].nodes[1].advantages is None


@pytest.mark.parametrize("name", [path.name for path in EXAMPLES.glob("*.py")])
def test_an_example_is_at_most_forty_lines_of_code(name: str) -> None:
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    docstring = len((ast.get_docstring(ast.parse(source), clean=False) or "").splitlines())
    code = [line for line in source.splitlines()[docstring:] if line.strip()]
    assert 20 <= len(code) <= 40


def test_the_page_of_examples_names_each_and_shows_what_it_prints() -> None:
    for path in EXAMPLES.iterdir():
        assert f"examples/{path.name}" in PAGE
    for name in ("group_reward.py", "prime_rl_score_group.py"):
        shown = f"```text\n{printed(name)}```\n"
        assert shown in PAGE, f"docs/examples.md does not show what examples/{name} prints:\n{shown}"


@pytest.fixture(scope="module")
def trl() -> Path:
    """A folder with TRL in the version that the example names, to stand before this environment's own packages, which
    have everything that it needs; kept for the next time."""
    found = re.search(r"trl==([0-9.]+)", (EXAMPLES / "trl_grpo.py").read_text(encoding="utf-8"))
    assert found
    folder = REPOSITORY / f".venv-trl-{found[1]}"
    metadata = folder / f"trl-{found[1]}.dist-info"
    if not metadata.exists():
        shutil.rmtree(folder, ignore_errors=True)
        install = ["install", "-q", "--no-deps", "--target", str(folder), found[0]]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    for requirement in map(Requirement, PathDistribution(metadata).requires or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            assert requirement.specifier.contains(version(requirement.name)), f"{found[0]} wants {requirement}"
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of random weights that has never seen a word."""
    texts = ["Greet Anna.", "Hello, Anna!", "Hola Anna.", "Anna: Bonjour!"] * 2
    tokenizer = build_tokenizer(texts, vocab_size=300)
    save(tokenizer, build_model(tokenizer, hidden_size=64, layers=1, seed=1), tmp_path / "model")
    return tmp_path / "model"


TWO_STEPS_AND_BY_HAND = """
import asyncio, json, runpy, sys

import madrl

del sys.argv[0]
target_mix = runpy.run_path(sys.argv[0], run_name="__main__")["target_mix"]
said = ["Hello Anna", "Hola Anna"] * 4 + ["Bonjour Ben"] * 8
columns = {
    "prompts": [[{"role": "user", "content": "A"}]] * 8 + [[{"role": "user", "content": "B"}]] * 8,
    "completions": [[{"role": "assistant", "content": text}] for text in said],
    "reward_model": [{"ground_truth": "Anna"}] * 16,
    "extra_info": [{}] * 16,
}

def rewards_of(rows):
    chosen = {name: column[rows] for name, column in columns.items()}
    return asyncio.run(target_mix(**chosen, log_metric=lambda name, value: None))

def refusal(rows):
    try:
        return rewards_of(rows)
    except ValueError as error:
        return str(error)

every = slice(0, 16)
by_hand = {"rewards": rewards_of(every), "refused": [refusal(slice(4, 12)), refusal(slice(0, 12))]}
target_mix.__globals__["group_reward"] = madrl.GroupReward(
    categories=["english", "spanish", "french"],
    classifier="greeting:classify",
    verifier=lambda rollout: madrl.Verdict.UNGRADED if "Hola" in rollout.response else True,
)
by_hand["ungraded"] = rewards_of(every)
print(json.dumps(by_hand))
"""
"""Runs the example as ``python trl_grpo.py MODEL 2`` does, and then calls its reward as TRL would."""


@pytest.mark.slow
def test_trl_trains_for_two_steps_on_rewards_of_whole_groups(trl: Path, model: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "examples/own_task/prepare.py"], cwd=REPOSITORY, check=True)
    command = [sys.executable, "-c", TWO_STEPS_AND_BY_HAND, str(EXAMPLES / "trl_grpo.py"), str(model), "2"]
    # The command runs where TRL is to write; madrl itself is installed.
    environment = os.environ | {"PYTHONPATH": str(trl), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    logged = [ast.literal_eval(found) for found in re.findall(r"\{'loss': .*?\}", done.stdout)]
    assert len(logged) == 2
    for step in logged:
        assert float(step["num_tokens"]) > 0
        assert float(step["grad_norm"]) > 0
        # 0.7 for the correctness and 0.3 of what a uniform group earns at most; an off-support one earns -0.3 or less.
        assert -3 < float(step["rewards/target_mix/mean"]) <= 0.7
        assert 0 <= float(step["english"]) + float(step["spanish"]) + float(step["french"]) <= 1

    by_hand: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    # Four English and four Spanish, all correct: 0.7 + 0.3 (log 1/3 - log 1/2) = 0.578. Eight French that name somebody
    # else: 0.3 log 1/3 = -0.330.
    assert by_hand["rewards"] == pytest.approx([0.578] * 8 + [-0.330] * 8, abs=1e-3)
    # Half of two groups, and one and a half.
    assert all("a process has a part of a group" in said for said in by_hand["refused"])
    # The second group is correct for this verifier: 0.7 - 0.330. The Spanish responses count, and have no reward.
    assert by_hand["ungraded"][0::2] == pytest.approx([0.578] * 4 + [0.370] * 4, abs=1e-3)
    assert by_hand["ungraded"][1::2] == [None] * 4 + [pytest.approx(0.370, abs=1e-3)] * 4
