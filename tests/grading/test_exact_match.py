"""The paper's score of GSM8K and MATH. The golden cases follow the steps of the normal form, one after another."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.files import read_jsonl
from madrl.grading.exact_match import normal_form, verify_exact_match
from madrl.grading.math_answers.math_answer import MAX_ANSWER_LENGTH
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Rollout, Verification

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = read_jsonl(GOLDEN / "exact_match_cases.jsonl")
HOSTILE = {
    case["name"]: "".join(text * times for text, times in case["parts"])
    for case in json.loads((GOLDEN / "math_hostile.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("case", CASES, ids=[f"{c['gold']} {c['pred'][-24:]}" for c in CASES])
async def test_golden_cases(case: dict[str, str]) -> None:
    found = await verify_exact_match(Rollout(case["pred"], case["gold"]))
    assert found.correctness == float(case["expected"]), found


async def test_the_answer_is_kept_as_the_response_writes_it_with_the_reason() -> None:
    assert await verify_exact_match(Rollout(r"\boxed{1,000}", "1000")) == Verification(1.0, "1,000")
    assert await verify_exact_match(Rollout(r"\boxed{1,001}", "1000")) == Verification(0.0, "1,001", "wrong")
    assert await verify_exact_match(Rollout("Hard to say.", "1000")) == Verification(0.0, None, "no_answer")


@pytest.mark.parametrize("reference", ["", " ", "$", "."])
async def test_a_reference_of_which_nothing_is_left_is_ungraded_and_matches_no_answer(reference: str) -> None:
    for answer in ("4", "$"):
        found = await verify_exact_match(Rollout(rf"\boxed{{{answer}}}", reference))
        assert (found.correctness, found.reason) == (None, "bad_reference")


async def test_an_answer_that_is_too_long_is_incorrect_unread() -> None:
    found = await verify_exact_match(Rollout(rf"\boxed{{{'1' * 100_000}}}", "1"))
    assert (found.correctness, found.reason, len(found.answer or "")) == (0.0, "too_long", MAX_ANSWER_LENGTH)


@given(st.text(alphabet=r"01.,/=\{}$% ^fracsqtexlih!", max_size=40))
def test_equal_strings_are_equal_whatever_they_are(text: str) -> None:
    assert normal_form(text) == normal_form(f" {text} ")


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_a_hostile_answer_takes_no_time(name: str) -> None:
    before = time.process_time()
    normal_form(HOSTILE[name][:MAX_ANSWER_LENGTH] * 8)
    assert time.process_time() - before < 0.5


def test_it_is_found_by_its_name() -> None:
    assert load_verifier("exact_match") is verify_exact_match
