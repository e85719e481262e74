"""What a classifier or a verifier may return, and what becomes of one that returns or raises something else."""

import asyncio
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from madrl.errors import MadrlError
from madrl.grading import grader
from madrl.grading.grader import Grader, GraderSpec, PluginError
from madrl.grading.plugins import Plugin
from madrl.rollout import Classification, Grade, Rollout, Verdict, Verification

ROLLOUT = Rollout("a response", "a truth")


@pytest.fixture(autouse=True)
def nothing_raised_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grader, "_raised", type(grader._raised)())


def named(name: str, function: Any) -> Any:
    """The function as one of a user's module ``mine``."""
    function.__module__, function.__qualname__ = "mine", name
    return function


def grade(classifier: Plugin | None, verifier: Plugin | None, declared: tuple[str, ...] = ()) -> Grade:
    return asyncio.run(Grader(GraderSpec(classifier, verifier, declared)).grade(ROLLOUT))


def classify(found: Any, declared: tuple[str, ...] = ("en", "fr")) -> Grade:
    return grade(named("classify", lambda rollout: found), None, declared)


def verify(found: Any) -> Grade:
    async def verifier(rollout: Rollout) -> Any:
        return found

    return grade(None, named("verify", verifier))


def test_a_string_from_a_classifier_is_the_category_and_not_its_first_letter() -> None:
    assert classify("en").category == "en"


@pytest.mark.parametrize("found", [None, Classification(None, "no language")])
def test_none_from_a_classifier_is_off_support(found: Classification | None) -> None:
    assert classify(found).category is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (True, "returned True, a bool"),
        (Classification("en", unusual=None), "returned Classification"),  # type: ignore[arg-type]
        (0, "returned 0, an int"),
        (("en", "why"), r"returned \('en', 'why'\), a tuple"),
        (["en"], r"returned \['en'\], a list"),
        (Verdict, "returned .*, an EnumType"),
        (Classification(True), "returned Classification"),  # type: ignore[arg-type]
        (Verification(1.0), "returned Verification"),
    ],
)
def test_anything_else_from_a_classifier_is_refused_with_its_name_the_value_and_the_remedy(
    found: Any, message: str
) -> None:
    with pytest.raises(PluginError, match=f"classifier mine:classify {message}.*: return a declared category") as error:
        classify(found)
    assert "\n" not in str(error.value)


async def answer() -> str:
    return "en"


def test_an_async_classifier_is_told_to_be_none() -> None:
    with pytest.raises(PluginError, match=r"classifier mine:classify returned <coroutine .*: write it as 'def'"):
        classify(answer())


def test_a_category_that_is_not_declared_is_refused_with_the_classifier_s_name() -> None:
    with pytest.raises(PluginError, match="classifier mine:classify: category 'de' is not declared: the categories"):
        classify("de")
    assert classify("de", declared=()).category == "de", "a file of responses declares none"


@pytest.mark.parametrize(
    ("found", "correctness"),
    [
        (True, 1.0),
        (False, 0.0),
        (np.bool_(True), 1.0),
        (0, 0.0),
        (0.25, 0.25),
        (np.float32(0.5), 0.5),
        (Fraction(1, 4), 0.25),
        (Verdict.CORRECT, 1.0),
        (Verdict.INCORRECT, 0.0),
        (Verdict.UNGRADED, None),
        (Verification(None), None),
        (Verification(True), 1.0),
    ],
)
def test_a_verifier_may_return_a_bool_a_number_a_verdict_or_a_verification(
    found: Any, correctness: float | None
) -> None:
    graded = verify(found)
    assert graded == Grade(None, correctness, queued=1)
    assert type(graded.correctness) in (float, type(None))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "returned None, a NoneType"),
        (1.5, "returned 1.5, a float"),
        (-1, "returned -1, an int"),
        (float("nan"), "returned nan, a float"),
        ("correct", "returned 'correct', a str"),
        ((1.0, "4"), "returned .*, a tuple"),
        ({"score": 1.0}, "returned .*, a dict"),
        (Verdict.PARTIAL, "returned <Verdict.PARTIAL: 'partial'>, a Verdict"),
        (Verification("yes"), "returned Verification"),  # type: ignore[arg-type]
        (Verification(2.0), "returned Verification"),
        (Verification(1.0, answer=4), "returned Verification"),  # type: ignore[arg-type]
        (Verification(1.0, extra={"seen": {1, 2}}), "returned Verification"),
        (Verification(1.0, extra=[1]), "returned Verification"),  # type: ignore[arg-type]
        (Classification("en"), "returned Classification"),
    ],
)
def test_anything_else_from_a_verifier_is_refused_with_its_name_the_value_and_the_remedy(
    found: Any, message: str
) -> None:
    with pytest.raises(PluginError, match=f"verifier mine:verify {message}.*: return True or False, a number") as error:
        verify(found)
    assert "\n" not in str(error.value)


def test_what_else_a_verifier_found_is_kept_in_json_types() -> None:
    extra = {"passed": np.int64(3), "times_s": np.array([0.5, 1.0]), "tests": ("a", "b")}
    assert verify(Verification(1.0, extra=extra)).extra == {"passed": 3, "times_s": [0.5, 1.0], "tests": ["a", "b"]}


def raising(name: str) -> Callable[[Rollout], Any]:
    async def verifier(rollout: Rollout) -> Any:
        if rollout.response == "other":
            raise ValueError(f"{name} again")
        raise ValueError(f"{name} {rollout.response}")

    return verifier


def test_a_verifier_that_raises_for_every_response_leaves_one_traceback_and_a_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    grader = Grader(GraderSpec(None, named("verify", raising("down")), ()))

    async def ask() -> list[Grade]:
        responses = [str(i) for i in range(100)] + ["other"] * 5
        return [await grader.grade(Rollout(r, "")) for r in responses]

    found = asyncio.run(ask())
    assert {v.correctness for v in found} == {None}
    assert found[7].reason == "verifier raised ValueError: down 7"
    with_traceback = [r.getMessage() for r in caplog.records if r.exc_info]
    assert with_traceback == [
        "verifier mine:verify raised ValueError: down 0",
        "verifier mine:verify raised ValueError: down again",
    ], "one for each line that raised"
    counted = [r.getMessage().rpartition("(")[2] for r in caplog.records if not r.exc_info]
    assert counted == ["10 times so far)", "100 times so far)"]


def ungraded(rollout: Rollout) -> Verification:
    return Verification(None, reason="down") if rollout.response == "lost" else Verification(1.0)


@pytest.mark.parametrize(("lost", "stops"), [(1, False), (2, False), (3, True)])
def test_a_batch_that_is_ungraded_by_more_than_half_is_no_batch(lost: int, stops: bool) -> None:
    rollouts = [Rollout("lost" if i < lost else "there", "") for i in range(4)]
    grader = Grader(GraderSpec(None, named("verify", ungraded), ()))
    if stops:
        with pytest.raises(
            MadrlError, match=r"verifier mine:verify could not grade 3 of 4 responses \(down\): mend that"
        ):
            asyncio.run(grader.grade_all(rollouts))
    else:
        assert sum(found.correctness is None for found in asyncio.run(grader.grade_all(rollouts))) == lost
    assert len(asyncio.run(grader.grade_all(rollouts, enough=False))) == 4, "too few to tell"


def test_a_response_says_how_many_were_being_graded_when_it_came() -> None:
    everybody = asyncio.Event()

    async def waits(rollout: Rollout) -> bool:
        if rollout.response == "last":
            everybody.set()
        await everybody.wait()
        return True

    grader = Grader(GraderSpec(None, waits, ()))
    found = asyncio.run(grader.grade_all([Rollout("a", ""), Rollout("b", ""), Rollout("last", "")]))
    assert [one.queued for one in found] == [1, 2, 3]
    assert grader.in_progress == 0


def test_the_reason_is_the_verifier_s_or_else_the_classifier_s() -> None:
    lost = named("classify", lambda rollout: Classification(None, "no words"))
    assert grade(lost, None).reason == "no words"
    assert grade(lost, lambda rollout: Verification(0.0, reason="wrong")).reason == "wrong"
    assert grade(lost, lambda rollout: True).reason == "no words"


def classify_all_alike(rollout: Rollout) -> str:
    return "a"


def test_an_unusual_way_is_the_verifier_s_the_classifier_s_or_both() -> None:
    async def by_exec(rollout: Rollout) -> Verification:
        return Verification(1.0, unusual="exec")

    in_code = named("classify", lambda rollout: Classification("en", unusual="prose in code"))
    assert grade(in_code, None).unusual == "prose in code"
    assert grade(None, named("verify", by_exec)).unusual == "exec"
    assert grade(in_code, named("verify", by_exec)).unusual == "exec, prose in code"
    assert grade(named("classify", lambda rollout: "en"), None).unusual == ""


def test_a_grader_of_the_user_s_functions_is_told_from_others_by_their_names_and_code() -> None:
    own, ours = Grader(GraderSpec(classify_all_alike, "math", ("a",))), Grader(GraderSpec("choice", "math", ("a",)))
    assert own.identity()["classifier"] == f"{__name__}:classify_all_alike"
    assert own.identity()["own_code"]
    assert ours.identity() == {
        "classifier": "choice",
        "verifier": "math",
        "categories": ("a",),
        "custom_reward_function": None,
        "own_code": None,
    }
