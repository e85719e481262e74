import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep import splits
from madrl.errors import MadrlError

SPLITS = ("train", "selection", "validation", "holdout")


def a_problem(number: int, split: str = "train", text: str | None = None) -> Any:
    return splits.SourceProblem(f"{split} {number}", split, text or f"What is {number} + {number}?", "x")


def some_problems(train: int, test: int) -> list[Any]:
    return [*(a_problem(i) for i in range(train)), *(a_problem(train + i, "test") for i in range(test))]


def sizes(train: int, test: int) -> tuple[int, ...]:
    made = splits.split_problems(some_problems(train, test), 42)
    return (*(len(made.problems[split]) for split in SPLITS), made.unused)


# What counts as the same problem.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is $x+1$?", "what is  $x + 1$"),
        (r"Find $\left( a \right)$.", "Find $(a)$."),
        (r"$\dfrac12$", r"$\frac12$"),
        (r"$1\,000$", r"$1000$"),
        (r"$a\!b\quad c$", "$abc$"),
        (r"\[x\]", "$$x$$"),
        ("Janet\u2019s ducks, and eggs.", "Janet's ducks and eggs"),
        ("one\ntwo", "one two"),
        ("Find $f'(2)$.", r"Find $f'\left(2\right)$."),
        ("Find $f'(2)$.", r"Find $f'\!(2)$."),
        ("Find $f'(2)$.", "Find $f'  (2)$."),
        ("Find $f'(2)$.", "Find $f\u2019(2)$."),
        ("Let $F'(2)$ be given", "let $f'(2)$ be given"),
        ("The boys' (4) toys", "The boys\u2019 (4) toys"),
        ("The boys' (4) toys", "The boys' $(4)$ toys"),
        ("Solve problem no.5", "Solve problem no. 5"),
        ("He pays 2 dollars.5 apples", "He pays 2 dollars. 5 apples"),
        ("Pay $.50", "pay  $ .50"),
        ("It has sides 3,.5", "It has sides 3, .5"),
        (r"$2\cdot.5$", r"$2\cdot .5$"),
    ],
)
def test_spelling_alone_makes_no_new_problem(one: str, other: str) -> None:
    assert splits.normalised(one) == splits.normalised(other)
    kept, _ = splits.without_duplicates([a_problem(0, text=one), a_problem(1, "test", other)])
    assert [problem.origin for problem in kept] == ["test 1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 + 3", "2 - 3"),
        ("1.5 kg", "15 kg"),
        ("in 2010", "in 2011"),
        ("Compute 5!", "Compute 5"),
        ("$x^2$", "$x_2$"),
        ("the ratio 3:2", "the ratio 32"),
        ("(1,2)", "(12)"),
        (r"\leftarrow", "arrow"),
    ],
)
def test_numbers_and_what_means_something_in_a_formula_are_kept(one: str, other: str) -> None:
    assert splits.normalised(one) != splits.normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It costs $.25", "It costs $25"),
        ("at most -.5", "at most -5"),
        ("Find $f'(2)$.", "Find $f(2)$."),
        (r"Find $F''\left(2\right)$.", "Find $f'(2)$."),
        (r"$2\cdot.5$", r"$2\cdot5$"),
        (r"$x \leq.5$", r"$x \leq5$"),
        (r"$\dfrac.5x$", r"$\dfrac5x$"),
    ],
)
def test_a_point_or_a_prime_makes_a_new_problem(one: str, other: str) -> None:
    assert len(splits.without_duplicates([a_problem(0, text=one), a_problem(1, "test", other)])[0]) == 2


def test_problems_that_differ_by_a_point_or_a_prime_are_both_kept() -> None:
    texts = ["It costs $.25.", "It costs $25.", "It costs 25", "Find $f'(2)$.", "Find $f(2)$.", "Don't.", "dont"]
    problems = [splits.SourceProblem(str(i), "train", text, "1") for i, text in enumerate(texts)]
    kept, dropped = splits.without_duplicates(problems)
    assert [problem.origin for problem in kept] == ["0", "1", "3", "4", "5"]
    assert [drop.detail for drop in dropped] == ["of 1", "of 5"]


def test_the_held_out_copy_of_a_problem_stays_and_the_drop_says_which() -> None:
    twice = [a_problem(0, text="Same?"), a_problem(1), a_problem(2, "test", "same ?"), a_problem(3, text="SAME")]
    kept, dropped = splits.without_duplicates(twice)
    assert [problem.origin for problem in kept] == ["train 1", "test 2"]
    assert dropped == [
        ("train 0", "train", "duplicate", "of test 2"),
        ("train 3", "train", "duplicate", "of test 2"),
    ]


# Who goes where.


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [
        (7473, 1319, (7273, 200, 60, 200, 1059)),  # GSM8K: 7473 - 200; 1319 - 260
        (1000, 260, (800, 200, 60, 200, 0)),
        (1000, 240, (780, 200, 60, 200, 0)),  # 20 of the training problems are borrowed
        (1000, 0, (540, 200, 60, 200, 0)),  # 1000 - 460
        (100, 300, (50, 50, 60, 200, 40)),  # selection takes half of the training problems
        (46, 0, (23, 10, 3, 10, 0)),  # half is 23; 23 / 460 of 200, 60, 200 = 10, 3, 10
        (12, 0, (7, 2, 1, 2, 0)),  # half is 6; 6 / 460 of 200, 60, 200 = 2, 0 -> 1, 2
        (4, 0, (1, 1, 1, 1, 0)),
    ],
)
def test_sizes_are_the_papers_and_shrink_in_proportion(train: int, test: int, expected: tuple[int, ...]) -> None:
    assert sizes(train, test) == expected


@pytest.mark.parametrize(("train", "test"), [(0, 0), (3, 0), (0, 500), (1, 1)])
def test_too_few_problems_are_refused(train: int, test: int) -> None:
    with pytest.raises(MadrlError, match=f"{train} training and {test} held-out problems are too few"):
        sizes(train, test)


def test_a_benchmark_with_enough_held_out_problems_never_evaluates_on_training_problems() -> None:
    made = splits.split_problems(some_problems(500, 300), 42)
    origin = {split: {p.source_split for p in made.problems[split]} for split in SPLITS}
    assert origin == {"train": {"train"}, "selection": {"train"}, "validation": {"test"}, "holdout": {"test"}}
    assert made.notes == []


def test_shrunken_or_borrowed_splits_are_noted() -> None:
    assert splits.split_problems(some_problems(12, 0), 42).notes == [
        "holdout has 2 problems, not 200: there are too few to choose from",
        "validation has 1 problems, not 60: there are too few to choose from",
        "selection has 2 problems, not 200: there are too few to choose from",
        "the source's held-out splits have 0 problems: 3 of its training problems stand in for the rest of validation "
        "and holdout",
    ]


words = st.sampled_from(
    ["a", "A", "b", "b.", " b ", "c $1$", "1", "1.5", "15", "\\dfrac12", "\\frac12", "d", "e", "f", "g"]
)


@given(
    st.lists(st.tuples(words, words, st.sampled_from(["train", "train", "test", "validation"])), max_size=40),
    st.integers(),
)
def test_no_problem_is_in_two_splits_or_twice_in_one(drawn: list[tuple[str, str, str]], seed: int) -> None:
    found = [splits.SourceProblem(f"row {i}", split, f"{one} {two}", "x") for i, (one, two, split) in enumerate(drawn)]
    kept, dropped = splits.without_duplicates(found)
    assert len(kept) + len(dropped) == len(found)
    try:
        made = splits.split_problems(kept, seed)
    except MadrlError:
        return
    texts = [splits.normalised(problem.text) for split in SPLITS for problem in made.problems[split]]
    assert len(texts) == len(set(texts)) == len(kept) - made.unused
    assert all(made.problems[split] for split in SPLITS)


@given(st.integers(4, 600), st.integers(0, 300))
def test_every_split_has_a_problem_and_half_of_the_training_problems_or_nearly_stay(train: int, test: int) -> None:
    made = splits.split_problems(some_problems(train, test), 1)
    assert all(made.problems[split] for split in SPLITS)
    assert len(made.problems["train"]) >= train // 2 - 2  # the one problem that each has at least can exceed the half


def test_the_order_of_the_source_decides_nothing_but_the_order_of_the_rows() -> None:
    ordered = some_problems(300, 300)
    shuffled = random.Random(0).sample(ordered, len(ordered))
    one, other = (splits.split_problems(p, 42).problems for p in (ordered, shuffled))
    assert all({p.origin for p in one[split]} == {p.origin for p in other[split]} for split in SPLITS)


def test_a_problem_that_is_dropped_moves_no_other_but_its_successor() -> None:
    everything = some_problems(300, 400)
    before = splits.split_problems(everything, 42).problems["holdout"]
    after = splits.split_problems([p for p in everything if p is not before[5]], 42).problems["holdout"]
    assert len({p.origin for p in before} & {p.origin for p in after}) == 199


def test_the_seed_decides() -> None:
    one, other, again = (splits.split_problems(some_problems(300, 400), seed) for seed in (1, 2, 1))
    assert one == again
    assert one.problems["holdout"] != other.problems["holdout"]
