import asyncio
import json
import os
import random
import re
import resource
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.math_answers.answer_text import answer_in, gsm8k_answer, last_boxed
from madrl.grading.math_answers.equivalence import decide, expression
from madrl.grading.math_answers.math_answer import MAX_ANSWER_LENGTH, verify_math
from madrl.grading.math_answers.worker_pool import WorkerPool
from madrl.rollout import Rollout, Verdict, Verification

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = read_jsonl(GOLDEN / "math_cases.jsonl")
HOSTILE = {
    case["name"]: "".join(text * times for text, times in case["parts"])
    for case in json.loads((GOLDEN / "math_hostile.json").read_text(encoding="utf-8"))
}


async def _verify(pairs: Iterable[tuple[str, str]]) -> list[Verification]:
    """Of references and responses."""
    return await asyncio.gather(*(verify_math(Rollout(response, reference)) for reference, response in pairs))


@pytest.mark.parametrize(
    "cut_off", ["So the answer is $", "The answer is \\(", "It is \\boxed{\\,}", "It is \\boxed{.}"]
)
async def test_a_response_that_was_cut_off_changes_the_verdict_on_no_other(cut_off: str) -> None:
    reference = f"x^2+y^2={25 + len(cut_off)}"
    [cut] = await _verify([(reference, cut_off)])
    right = f"\\boxed{{y^2 = {25 + len(cut_off)} - x^2}}"
    assert [cut.correctness, (await _verify([(reference, right)]))[0].correctness] == [0.0, 1.0]


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
async def test_labelled_pairs_get_their_labels(group: str) -> None:
    cases = [case for case in CASES if case["group"] == group]
    verdicts = await _verify((case["gold"], case["pred"]) for case in cases)
    wrong = [(case, v) for case, v in zip(cases, verdicts, strict=True) if v.correctness != case["expected"]]
    assert wrong == []


async def test_a_verification_holds_the_answer_as_the_response_writes_it() -> None:
    assert await verify_math(Rollout("Therefore $\\boxed{४२ \\text{ सेब}}$.", "42")) == Verification(
        1.0, "४२ \\text{ सेब}"
    )
    assert await verify_math(Rollout("\\boxed{41}", "42")) == Verification(0.0, "41", "wrong")


async def test_a_response_without_an_answer_is_incorrect() -> None:
    assert await verify_math(Rollout("It is hard to say.", "42")) == Verification(0.0, None, "no_answer")


async def test_an_answer_that_is_too_long_is_incorrect_unread() -> None:
    found = await verify_math(Rollout(rf"\boxed{{{'1' * 100_000}}}", "1"))
    assert (found.verdict, found.reason) == (Verdict.INCORRECT, "too_long")
    assert found.answer is not None
    assert len(found.answer) == MAX_ANSWER_LENGTH


@pytest.mark.parametrize("reference", ["", " ", r"\frac{1}{"])
async def test_a_reference_that_nobody_can_read_is_ungraded(reference: str) -> None:
    verification = await verify_math(Rollout(r"\boxed{x+1}", reference))
    assert (verification.verdict, verification.reason) == (Verdict.UNGRADED, "bad_reference")


def test_each_thread_and_each_event_loop_gets_its_verdicts() -> None:
    response = Rollout(r"\boxed{(x+1)^2}", "x^2+2x+1")
    found: list[Verdict] = []

    def ask() -> None:
        found.append(asyncio.run(verify_math(response)).verdict)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask()
    ask()
    assert found == [Verdict.CORRECT] * 5


@pytest.fixture(scope="module")
def impatient() -> WorkerPool:
    return WorkerPool(2, cpu_s=0.5, idle_s=1, wall_s=3600, max_wait_s=3600)


def test_no_hostile_answer_gets_more_than_its_deadline_and_the_pool_serves_on(impatient: WorkerPool) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    outcomes = {name: impatient.submit("x^2+1", expression(answer).latex) for name, answer in HOSTILE.items()}
    correctness = {name: outcome.result(3600).correctness for name, outcome in outcomes.items()}
    assert correctness == dict.fromkeys(HOSTILE, 0.0)
    # Of the workers that died of it: at most 0.5 s each, and a start.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10 * len(HOSTILE)
    assert impatient.submit("x^2+1", "1+x^2").result(3600).correctness == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_a_hostile_answer_takes_no_time(name: str) -> None:
    start = time.thread_time()
    for reference in ("42", "x^2+1", "1,2", r"\text{even}"):
        decide(reference, HOSTILE[name])
    assert time.thread_time() - start < 2.0


_LONG = 200_000
FLOODS = {
    "boxes": r"\boxed{" * _LONG, "empty_boxes": r"\boxed{}" * _LONG, "hashes": "#### a\n" * _LONG,
    "answers": "answer " * _LONG, "answer_is": "the answer is " * _LONG, "stars": "**" * _LONG, "digits": "1" * _LONG,
    "spaces": "answer" + " " * _LONG + "1", "newlines": "\n" * _LONG, "dollars": "the answer is " + "$" * _LONG,
    "hindi": "उत्तर " * _LONG, "chinese": "答" * _LONG, "brackets": "the answer is \\(" + "(" * _LONG,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOODS)
def test_finding_an_answer_takes_time_linear_in_the_response(name: str) -> None:
    start = time.thread_time()
    answer_in(FLOODS[name])
    assert time.thread_time() - start < 4.0  # seconds of CPU; quadratic time would take minutes


@pytest.mark.parametrize(
    "text",
    ["1" * 4096, "1," * 2048, "1,234" * 800, " 1" * 2048, "1.234" * 800, "-" * 4096, '"' * 4096, "a " * 2048,
     "42 " + "a" * 4000,      "42" + " cm" * 1300, "x=" * 2048, r"\text{" * 680, "四" * 4096,
     "४ " * 2000, ". " * 2048, "^2" * 2048, "(a" * 2048,
     "42 " + "a." * 2000, "42" + '" "' * 1300, "x " * 30 + "=" * 4000, "7:" * 2000],
    ids=lambda text: text[:6],
)  # fmt: skip
def test_no_pattern_of_ours_backtracks_without_end(text: str) -> None:
    start = time.thread_time()
    for reference in ("42", "x^2+1", "1,2", r"\text{even}"):
        decide(reference, text)
    assert time.thread_time() - start < 2.0


def test_last_boxed_balances_braces_and_skips_escaped_ones() -> None:
    assert last_boxed(r"\boxed{\frac{1}{2}} or \boxed{\left\{1, \{2\}\right\}}") == r"\left\{1, \{2\}\right\}"
    assert last_boxed(r"\boxed{a \\}") == r"a \\"
    assert last_boxed(r"so $\boxed 5$.") == "5"
    assert last_boxed(r"\boxed{5} \boxed{6") is None
    assert last_boxed("no box") is None


def test_a_gsm8k_answer_is_what_follows_the_hashes_without_separators() -> None:
    assert gsm8k_answer("2+3=<<2+3=5>>5\n#### 1,005") == "1005"
    with pytest.raises(MadrlError, match="#### N"):
        gsm8k_answer("2+3=5")


def _real(*parts: str) -> list[dict[str, str]]:
    folder = os.environ.get("MADRL_REAL_DATA")
    if not folder:
        pytest.skip("MADRL_REAL_DATA names no folder with gsm8k/ and math/")
    return [row for part in parts for row in read_jsonl(Path(folder, part))]


GSM8K_FORMS = (
    "6 x 3\n#### {}",
    "so \\boxed{{{}}}.",
    "The answer is {}.",
    "La respuesta es {}.",
    "答案是{}。",
    "उत्तर {} है।",
)


async def test_every_gsm8k_reference_is_accepted_in_the_forms_of_a_model() -> None:
    references = [gsm8k_answer(row["answer"]) for row in _real("gsm8k/train.jsonl", "gsm8k/test.jsonl")]
    assert len(references) == 8792
    separated = [re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", reference) for reference in references]
    for form in GSM8K_FORMS:
        for written in (references, separated):
            verdicts = await _verify((r, form.format(w)) for r, w in zip(references, written, strict=True))
            assert {v.verdict for v in verdicts} == {Verdict.CORRECT}


MATH_STYLES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "dfrac": lambda text: text.replace(r"\frac", r"\dfrac"),
    "tfrac": lambda text: text.replace(r"\frac", r"\tfrac"),
    "spaces": lambda text: re.sub(r"([=+<>-])", r" \1 ", text),
    "left and right": lambda text: (
        text
        if r"\left" in text
        else re.sub(r"(?<!\\)([)\]])", r"\\right\1", re.sub(r"(?<!\\)([(\[])", r"\\left\1", text))
    ),
}


async def test_almost_every_math_reference_is_accepted_in_the_forms_of_a_model() -> None:
    rows = _real("math/MATH_train.jsonl", "math/MATH_test.jsonl")
    references = sorted({row["answer"] for row in rows if row["answer"]})
    sample = random.Random(0).sample(references, 1500)
    for name, style in MATH_STYLES.items():
        verdicts = await _verify((r, f"Therefore, the answer is $\\boxed{{{style(r)}}}$.") for r in sample)
        accepted = sum(v.verdict is Verdict.CORRECT for v in verdicts) / len(verdicts)
        assert accepted >= 0.99, name
