import json
from pathlib import Path

import pytest

from madrl.grading.programs.extract import LANGUAGE_OF_TAG
from madrl.grading.programs.program import classify_programming_language
from madrl.rollout import Classification, Rollout
from madrl.tasks import PROGRAMMING_LANGUAGES

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden/program_cases.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
def test_every_golden_case_gets_its_category(group: str) -> None:
    cases = [case for case in CASES if case["group"] == group]
    wrong = [
        (case["response"], case["category"], found)
        for case in cases
        if (found := classify_programming_language(Rollout(case["response"], "")).category) != case["category"]
    ]
    assert not wrong


def test_the_reason_says_what_the_fence_said() -> None:
    assert classify_programming_language(Rollout("No idea.", "")) == Classification(None, "no_program")
    found = classify_programming_language(Rollout("```python\nfn main() { println!(1) }\n```", ""))
    assert found == Classification(None, "tag python, code is none of ours")


def test_the_categories_are_the_languages_that_tags_name() -> None:
    assert set(PROGRAMMING_LANGUAGES) == set(LANGUAGE_OF_TAG.values())
