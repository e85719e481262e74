"""What a response causes never pays more than being wrong, and docs/what_pays.md shows every other order.

The properties are of one response in a group of any others: it is changed, and they stay as they are.
"""

import asyncio

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from orders import BEGIN, END, PAGE, tables

from madrl.divergence import DIVERGENCES
from madrl.frequency import OFF_SUPPORT
from madrl.grading.grader import Grader, GraderSpec
from madrl.reward import EXACT_REWARD_STEP, FORMS, RewardConfig, score_group
from madrl.rollout import Rollout
from madrl.targets import peak, uniform
from madrl.tasks import TASKS

K = 5
verdicts = st.sampled_from([1.0, 0.0, 0.25, None])
siblings = st.lists(st.tuples(st.integers(OFF_SUPPORT, K - 1), verdicts), max_size=31)
targets = st.one_of(
    st.just(uniform(K)),
    st.just(peak(K)),
    st.lists(st.integers(0, 5), min_size=K, max_size=K).filter(any).map(lambda w: np.array(w) / sum(w)),
)


@st.composite
def configs(draw: st.DrawFn) -> RewardConfig:
    """Any reward whose gate is never negative."""
    form = draw(st.sampled_from(FORMS))
    return RewardConfig(
        draw(st.sampled_from(sorted(DIVERGENCES))),
        form,
        alpha=draw(st.floats(0, 1)),
        lambda_g=draw(st.floats(0, 10)),
        epsilon=draw(st.floats(1e-9, 0.5)),
        gate_floor=draw(st.floats(0, 1)) if form == "gated" else None,
        off_support_reward=-1.0 if form == "gapo" else draw(st.floats(-10, 10)),
    )


def earned(
    category: int,
    correct: float | None,
    others: list[tuple[int, float | None]],
    target: NDArray[np.float64],
    config: RewardConfig,
) -> float:
    """The reward of a response beside its siblings."""
    target = uniform(K) if config.form == "gapo" else target
    indices = np.array([category, *(c for c, _ in others)], dtype=np.int64)
    return float(score_group(indices, [correct, *(v for _, v in others)], target, config).reward[0])


everything = given(
    category=st.integers(0, K - 1), correct=verdicts, others=siblings, target=targets, config=configs()
)  # fmt: skip


@everything
def test_within_a_category_being_wrong_never_pays_more(
    category: int, correct: float | None, others: list[tuple[int, float | None]], target: NDArray[np.float64],
    config: RewardConfig,
) -> None:  # fmt: skip
    for where in (category, OFF_SUPPORT):
        wrong = earned(where, 0.0, others, target, config)
        assert wrong <= earned(where, correct, others, target, config) + EXACT_REWARD_STEP
        assert wrong <= earned(where, 1.0, others, target, config) + EXACT_REWARD_STEP


@everything
def test_leaving_the_declared_categories_never_pays_more_than_staying_with_the_same_verdict(
    category: int, correct: float | None, others: list[tuple[int, float | None]], target: NDArray[np.float64],
    config: RewardConfig,
) -> None:  # fmt: skip
    stayed = earned(category, correct, others, target, config)
    assert earned(OFF_SUPPORT, correct, others, target, config) <= stayed + EXACT_REWARD_STEP


@everything
def test_an_empty_response_never_earns_more_than_any_other_to_the_same_prompt(
    category: int, correct: float | None, others: list[tuple[int, float | None]], target: NDArray[np.float64],
    config: RewardConfig,
) -> None:  # fmt: skip
    empty = earned(OFF_SUPPORT, 0.0, others, target, config)
    for where in (category, OFF_SUPPORT):
        assert empty <= earned(where, correct, others, target, config) + EXACT_REWARD_STEP


@everything
def test_an_off_support_response_earns_at_most_what_a_sibling_of_the_same_verdict_does(
    category: int, correct: float | None, others: list[tuple[int, float | None]], target: NDArray[np.float64],
    config: RewardConfig,
) -> None:  # fmt: skip
    target = uniform(K) if config.form == "gapo" else target
    indices = np.array([category, OFF_SUPPORT, *(c for c, _ in others)], dtype=np.int64)
    score = score_group(indices, [correct, correct, *(v for _, v in others)], target, config)
    assert score.reward[1] <= score.reward[0] + EXACT_REWARD_STEP


@given(category=st.integers(0, K - 1), others=siblings, target=targets, config=configs())
def test_an_ungraded_response_never_earns_more_than_a_right_one(
    category: int, others: list[tuple[int, float | None]], target: NDArray[np.float64], config: RewardConfig
) -> None:
    right = earned(category, 1.0, others, target, config)
    assert earned(category, None, others, target, config) <= right + EXACT_REWARD_STEP


def test_the_tables_of_the_page_are_what_the_reward_gives() -> None:
    page = PAGE.read_text("utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0].strip() == "".join(tables()).strip()


pieces = st.one_of(
    st.sampled_from([
        r"\boxed{", "}", r"\boxed{18}", "#### 18", "```", "$", r"\frac{", r"\sqrt[", "^^^", "10^{10^{10}}", "∫", "\x00",
        "\ud800", "<!--", "Alps", "2^{-1}" * 40, "(" * 300, "!" * 40, "9" * 5000, "1/0", r"\infty", "x=", "答案是",
    ]),
    st.text(max_size=40),
)  # fmt: skip
texts = st.one_of(
    st.just(""),
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, min_size=1, max_size=3).map(lambda parts: (parts[0] * 100_000)[:100_000] + "".join(parts)),
)
OPTIONS = '["Alps", "Andes", "Atlas", "Rockies", "Urals"]'


@settings(max_examples=60)
@given(text=texts, reference=st.sampled_from(["18", r"\frac{1}{2}", "x^2+1", "(1,2)", r"[0,\infty)"]))
def test_no_response_makes_itself_ungraded(text: str, reference: str) -> None:
    for name, truth in (("math", reference), ("synthetic_closed", OPTIONS)):
        task = TASKS[name]
        grader = Grader(GraderSpec(task.classifier, task.verifier, task.categories))
        (grade,) = asyncio.run(grader.grade_all([Rollout(text, truth)], enough=False))
        assert grade.correctness is not None, grade.reason
        if not text.strip():
            assert (grade.category, grade.correctness) == (None, 0.0)
