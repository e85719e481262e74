"""Real rows walked from the published file to the reward: prepared, answered, classified, verified, scored."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepared_data import read_rows, real_data, run_module
from sandbox_service import Service

from madrl.frequency import category_indices
from madrl.grading.classifiers import load_classifier
from madrl.grading.programs.program import URLS_VARIABLE, default_client
from madrl.grading.verifiers import load_verifier
from madrl.reward import RewardConfig, score_group
from madrl.rollout import Rollout, Verification
from madrl.targets import peak
from madrl.tasks import LANGUAGES, PROGRAMMING_LANGUAGES, TASKS

SOLUTIONS = {
    "en": "We read the problem carefully, set up what is given, and compute step by step.\n\nSo the answer is {box}.",
    "zh": "我们仔细阅读题目,列出已知条件,然后一步一步地计算。\n\n所以答案是 {box}。",
    "es": "Leemos el problema con cuidado, anotamos los datos y calculamos paso a paso.\n\nLa respuesta es {box}.",
    "hi": "हम प्रश्न को ध्यान से पढ़ते हैं, दी गई बातें लिखते हैं और एक एक करके गणना करते हैं।\n\nइसलिए उत्तर {box} है।",
    "fr": "Nous lisons bien l'énoncé, nous notons les données et nous calculons pas à pas.\n\nLa réponse est {box}.",
}
"""A response of a group in each language; the last of each group below is a sixth, in German and wrong."""

GERMAN = (
    "Wir lesen die Aufgabe genau, schreiben auf, was gegeben ist, und rechnen Schritt für Schritt: \\boxed{-987654321}"
)

SPLITS = ("train", "selection", "validation", "holdout")

ROWS = 60
"""Rows of each split that are tried, spread evenly."""


@pytest.mark.parametrize(("name", "script"), [("gsm8k", "gsm8k"), ("math", "hendrycks_math")])
def test_real_math_rows_earn_the_rewards_of_their_languages(name: str, script: str, tmp_path: Path) -> None:
    done = run_module(script, "--local_dataset_path", real_data(name), "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [
        row for split in ("train", "selection", "validation", "holdout") for row in spread(read_rows(tmp_path, split))
    ]
    verify, classify = load_verifier("math"), load_classifier("language")

    async def verify_all(rollouts: list[Rollout]) -> list[Verification]:
        return list(await asyncio.gather(*map(verify, rollouts)))

    groups = []
    for row in rows:
        [prompt] = row["prompt"]
        problem, instruction = row["extra_info"]["problem"], prompt["content"].partition(TASKS["math"].instruction)
        assert instruction == (f"{problem}\n\n", TASKS["math"].instruction, "")
        truth = row["reward_model"]["ground_truth"]
        texts = [text.format(box=f"\\boxed{{{truth}}}") for text in SOLUTIONS.values()]
        groups.append([Rollout(text, truth, row["extra_info"], row["data_source"]) for text in (*texts, GERMAN)])
    verified = asyncio.run(verify_all([rollout for group in groups for rollout in group]))
    for i, group in enumerate(groups):
        categories = [classify(rollout).category for rollout in group]
        assert categories == [*LANGUAGES, None]
        correct = [v.correctness for v in verified[len(group) * i : len(group) * (i + 1)]]
        assert correct == [1.0] * 5 + [0.0], group[0].ground_truth
        check_reward(categories, correct, LANGUAGES)


def spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[:: max(1, len(rows) // ROWS)]


def check_reward(categories: list[str | None], correct: list[float | None], names: tuple[str, ...]) -> None:
    """One of the six responses is in each category and one in none. Under the peaked target, L2 and alpha 0.7:
    excluded categories earn 0.7 + 0.3 (0 - 1/6) = 0.65, wanted ones 0.7 + 0.3 (1/3 - 1/6) = 0.75, and the wrong
    off-support response 0.3 (-1) = -0.3."""
    indices = category_indices(categories, names)
    scored = score_group(indices, correct, peak(5), RewardConfig("l2", alpha=0.7))
    np.testing.assert_allclose(scored.reward, [0.65, 0.65, 0.75, 0.75, 0.75, -0.3])


# Codeforces 1000A: how many T-shirts of this year's list are not in last year's. Ours, in the five languages.
T_SHIRTS = {
    "python": """
from collections import Counter
n = int(input())
old = Counter(input().strip() for _ in range(n))
new = Counter(input().strip() for _ in range(n))
print(sum((new - old).values()))
""",
    "cpp": """
#include <iostream>
#include <map>
#include <string>
using namespace std;
int main() {
    int n, missing = 0;
    cin >> n;
    map<string, int> have;
    string s;
    for (int i = 0; i < n; i++) { cin >> s; have[s]++; }
    for (int i = 0; i < n; i++) { cin >> s; if (have[s] > 0) have[s]--; else missing++; }
    cout << missing << endl;
}
""",
    "java": """
import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), missing = 0;
        Map<String, Integer> have = new HashMap<>();
        for (int i = 0; i < n; i++) have.merge(in.next(), 1, Integer::sum);
        for (int i = 0; i < n; i++) if (have.merge(in.next(), -1, Integer::sum) < 0) missing++;
        System.out.println(missing);
    }
}
""",
    "go": """
package main

import "fmt"

func main() {
    var n, missing int
    fmt.Scan(&n)
    have := map[string]int{}
    var s string
    for i := 0; i < n; i++ { fmt.Scan(&s); have[s]++ }
    for i := 0; i < n; i++ { fmt.Scan(&s); if have[s] > 0 { have[s]-- } else { missing++ } }
    fmt.Println(missing)
}
""",
    "javascript": """
const words = require('fs').readFileSync(0, 'utf8').split(/\\s+/);
const n = Number(words[0]);
const have = {};
for (let i = 1; i <= n; i++) have[words[i]] = (have[words[i]] || 0) + 1;
let missing = 0;
for (let i = n + 1; i <= 2 * n; i++) { if (have[words[i]] > 0) have[words[i]]--; else missing++; }
console.log(missing);
""",
}
RUBY = "n = gets.to_i\nputs n.times.map { gets.chomp }.uniq.size\n"


@pytest.mark.sandbox
async def test_a_real_programming_problem_is_graded_in_five_languages(
    own_service: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = real_data("code_contests")
    done = run_module("code_contests", "--local_dataset_path", source, "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [row for split in SPLITS for row in read_rows(tmp_path, split)]
    assert all(Path(json.loads(row["reward_model"]["ground_truth"])["tests_file"]).is_file() for row in rows)
    [row] = [row for row in rows if "Codehorses" in row["extra_info"]["problem"]]
    truth = row["reward_model"]["ground_truth"]
    assert len(json.loads(Path(json.loads(truth)["tests_file"]).read_text())["tests"]) == 102
    responses = [f"The lists are compared as bags.\n\n```{tag}{code}```\n" for tag, code in T_SHIRTS.items()]
    rollouts = [Rollout(r, truth, row["extra_info"], row["data_source"]) for r in (*responses, f"```ruby\n{RUBY}```")]
    monkeypatch.setenv(URLS_VARIABLE, own_service().url)
    default_client.cache_clear()
    try:
        verified = await asyncio.gather(*map(load_verifier("code"), rollouts))
        wrong = await load_verifier("code")(Rollout("```python\nprint(0)\n```", truth))
    finally:
        await default_client().aclose()
        default_client.cache_clear()
    classify = load_classifier("programming_language")
    categories = [classify(rollout).category for rollout in rollouts]
    assert categories == [*PROGRAMMING_LANGUAGES, None]
    correct = [v.correctness for v in verified]
    assert correct == [1.0] * 5 + [0.0], [v.reason for v in verified]
    assert (wrong.correctness, wrong.reason) == (0.0, "wa")
    check_reward(categories, correct, PROGRAMMING_LANGUAGES)
