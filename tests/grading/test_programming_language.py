import json
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.grading.programs.extract import LANGUAGE_OF_TAG
from madrl.grading.programs.program import ProgrammingLanguageClassifier, classify_programming_language
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


def test_a_program_in_a_language_that_is_not_declared_is_off_support() -> None:
    python, go = Rollout("```python\nprint(1)\n```", ""), Rollout("```go\npackage main\n\nfunc main() {}\n```", "")
    classify = ProgrammingLanguageClassifier(categories=("go", "java"))
    assert classify(go) == Classification("go")
    assert classify(python) == Classification(None, "other language: python")


def test_declared_categories_that_are_no_languages_of_ours_are_refused() -> None:
    with pytest.raises(MadrlError, match=r"'Python' is none of its languages: declare some of \['python'"):
        ProgrammingLanguageClassifier(categories=("Python", "go"))


def test_the_categories_are_the_languages_that_tags_name() -> None:
    assert set(PROGRAMMING_LANGUAGES) == set(LANGUAGE_OF_TAG.values())
