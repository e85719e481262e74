"""What a classifier or a verifier may return, and what becomes of one that returns or raises something else."""

import asyncio
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from madrl.errors import MadrlError
from madrl.grading import grader
from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.plugins import Plugin, PluginError
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


@pytest.mark.parametrize(
    ("classifier", "arguments", "response"),
    [
        ("regex", {"patterns": {"en": r"\bthe\b", "fr": r"\ble\b"}}, "dans le jardin"),
        ("field", {"json": "language", "aliases": {"French": "fr"}}, '{"language": "french"}'),
        ("length", {"unit": "words", "buckets": {"en": 2, "fr": None}}, "un deux trois"),
        ("language", {}, "La somme des deux nombres est cinq."),
    ],
)
def test_a_classifier_without_code_needs_its_arguments_alone(
    classifier: str, arguments: dict[str, Any], response: str
) -> None:
    spec = GraderSpec(classifier, None, ("en", "fr"), classifier_args=arguments)
    assert asyncio.run(Grader(spec).grade(Rollout(response, ""))).category == "fr"
    with pytest.raises(MadrlError, match=f"classifier {classifier} has no argument 'speed'"):
        Grader(spec._replace(classifier_args={**arguments, "speed": 1}))


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


def test_a_classifier_may_say_that_it_cannot_tell_the_category() -> None:
    found = classify(Classification(None, "no answer in time", classified=False))
    assert (found.category, found.classified, found.reason) == (None, False, "no answer in time")
    for wrong in (Classification("en", classified=False), Classification(None, classified=None)):  # type: ignore[arg-type]
        with pytest.raises(PluginError, match="returned Classification"):
            classify(wrong)


def down(rollout: Rollout) -> str:
    raise ConnectionError("nobody there")


def leaves(rollout: Rollout) -> str:
    raise SystemExit(3)


async def leaves_async(rollout: Rollout) -> str:
    raise SystemExit(3)


class Panic(BaseException):
    """As the exception of a panic in Rust, which is no Exception."""


def panics(rollout: Rollout) -> str:
    raise Panic("index out of bounds")


async def panics_async(rollout: Rollout) -> str:
    raise Panic("index out of bounds")


async def closes_async(rollout: Rollout) -> str:
    raise GeneratorExit("closed")


async def waits_for_what_was_cancelled(rollout: Rollout) -> str:
    asked = asyncio.create_task(asyncio.sleep(1000, "en"))
    asked.cancel()
    return await asked


@pytest.mark.parametrize(
    ("classifier", "reason"),
    [
        (down, "classifier raised ConnectionError: nobody there"),
        (leaves, "classifier raised RuntimeError: SystemExit: 3"),
        (leaves_async, "classifier raised SystemExit: 3"),
        (panics, "classifier raised RuntimeError: Panic: index out of bounds"),
        (panics_async, "classifier raised Panic: index out of bounds"),
        (closes_async, "classifier raised GeneratorExit: closed"),
        (waits_for_what_was_cancelled, "classifier raised CancelledError: "),
    ],
)
def test_a_classifier_that_raises_leaves_the_category_ungraded_and_the_verdict_as_it_is(
    classifier: Plugin, reason: str
) -> None:
    found = grade(classifier, lambda rollout: Verification(1.0, "4", "right"), ("en",))
    assert found == Grade(None, 1.0, "4", reason, queued=1, classified=False)


def test_a_classifier_that_raises_is_logged_once_as_a_verifier_is(caplog: pytest.LogCaptureFixture) -> None:
    grader = Grader(GraderSpec(named("classify", down), None, ()))
    assert len(asyncio.run(grader.grade_all([ROLLOUT] * 12, enough=False))) == 12
    assert [record.getMessage() for record in caplog.records] == [
        "classifier mine:classify raised ConnectionError: nobody there",
        "classifier mine:classify raised ConnectionError: nobody there (10 times so far)",
    ]


@pytest.mark.parametrize("raised_alone", [False, True])
def test_a_batch_whose_categories_are_ungraded_by_more_than_half_is_no_batch(raised_alone: bool) -> None:
    def some(rollout: Rollout) -> str:
        return "en" if rollout.response == "there" else down(rollout)

    grader = Grader(GraderSpec(named("classify", some), lambda rollout: True, ("en",)))
    half = [Rollout("lost", ""), Rollout("there", "")]
    assert [one.classified for one in asyncio.run(grader.grade_all(half, raised_alone=raised_alone))] == [False, True]
    with pytest.raises(
        MadrlError, match=r"classifier mine:classify could not grade 2 of 3 responses \(classifier rais"
    ):
        asyncio.run(grader.grade_all([*half, Rollout("lost", "")], raised_alone=raised_alone))


def test_the_classifier_and_the_verifier_look_at_a_response_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def classifier(rollout: Rollout) -> str:
        await both.wait()
        return "en"

    async def verifier(rollout: Rollout) -> bool:
        await both.wait()
        return True

    assert grade(classifier, verifier) == Grade("en", 1.0, queued=1)


class Ready:
    def __init__(self, *, port: int) -> None:
        self.port = port

    def check_ready(self) -> None:
        if self.port == 0:
            raise MadrlError("nothing listens on port 0: start it")

    def __call__(self, rollout: Rollout) -> bool:
        return True


@pytest.mark.parametrize("kind", ["classifier", "verifier"])
def test_a_plug_in_of_one_s_own_says_before_a_run_whether_it_is_ready(kind: str) -> None:
    def spec(port: int) -> GraderSpec:
        named: dict[str, Any] = {"classifier": None, "verifier": None, kind: Ready, f"{kind}_args": {"port": port}}
        return GraderSpec(categories=(), **named)

    with pytest.raises(MadrlError, match="nothing listens on port 0"):
        Grader(spec(0)).check_ready()
    Grader(spec(1)).check_ready()


async def test_a_grading_that_is_cancelled_itself_is_not_ungraded() -> None:
    asked = asyncio.Event()

    async def waits(rollout: Rollout) -> str:
        asked.set()
        await asyncio.sleep(1000)
        return "en"

    grading = asyncio.create_task(Grader(GraderSpec(waits, waits, ("en",))).grade(ROLLOUT))
    await asked.wait()
    grading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await grading


def test_a_verifier_that_panics_leaves_the_correctness_ungraded() -> None:
    for verifier in (panics, panics_async, closes_async, waits_for_what_was_cancelled):
        assert grade(None, verifier, ()).correctness is None


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


def test_an_error_that_says_all_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def classify(rollout: Rollout) -> str:
        raise MadrlError("its ground_truth is no list")

    grader = Grader(GraderSpec(classify, None, ()))
    asyncio.run(grader.grade(Rollout("a", "")))
    (record,) = caplog.records
    assert record.getMessage().endswith("raised MadrlError: its ground_truth is no list")
    assert record.exc_info is None


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
        "classifier_args": {},
        "verifier_args": {},
        "own_code": None,
    }
