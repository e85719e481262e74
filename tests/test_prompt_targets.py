"""The target of one prompt: as a data row gives it, and as a response on disk carries it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.prompt_targets import PromptTarget, check_row_target, read_prompt_target, row_categories, row_target
from madrl.schema import check_parquet

COLOURS = ("red", "blue", "green")


@pytest.mark.parametrize(
    ("extra_info", "categories", "shares"),
    [
        # 3 + 1 = 4; green is the prompt's, and not wanted
        ({"target": '{"blue": 1, "red": 3}'}, COLOURS, (0.75, 0.25, 0.0)),
        ({"target": "uniform"}, COLOURS, (1 / 3, 1 / 3, 1 / 3)),
        ({"target": "peak", "categories": None}, COLOURS, (0.0, 0.0, 1.0)),
        # green is none of the prompt's; the order is that of declaration
        ({"target": "uniform", "categories": '["blue", "red"]'}, ("red", "blue"), (0.5, 0.5)),
        ({"target": '{"green": 2}', "categories": '["red", "green"]'}, ("red", "green"), (0.0, 1.0)),
    ],
)
def test_a_row_gives_its_prompt_weights_or_a_name_over_all_categories_or_some(
    extra_info: dict[str, Any], categories: tuple[str, ...], shares: tuple[float, ...]
) -> None:
    assert row_target(extra_info, COLOURS) == PromptTarget(categories, shares)
    assert row_categories(extra_info, COLOURS) == categories
    check_row_target(extra_info, None)


@pytest.mark.parametrize("extra_info", [{}, {"target": None}, {"target": None, "categories": None, "index": 3}])
def test_a_row_without_a_target_has_all_categories_and_the_run_s_target(extra_info: dict[str, Any]) -> None:
    assert row_target(extra_info, COLOURS) is None
    assert row_categories(extra_info, COLOURS) == COLOURS


@pytest.mark.parametrize(
    ("extra_info", "message"),
    [
        (
            {"target": {"red": 1}},
            "target {'red': 1} is not text: store it as JSON, such as '{\"red\": 3, \"blue\": 1}'",
        ),
        ({"target": 3}, "target 3 is not text"),
        ({"target": '{"red": 1'}, 'target \'{"red": 1\' is not JSON .*: write \'{"red": 3, "blue": 1}\';'),
        ({"target": "even"}, "unknown target 'even': use one of"),
        ({"target": '{"red": -1}'}, "target weight -1 of 'red' is not a number from 0"),
        ({"target": '{"red": 0}'}, "gives no category any weight"),
        ({"target": '{"red": NaN}'}, "target weight nan of 'red' is not a number"),
        ({"target": '{"red": ["a"]}'}, r"target weight \['a'\] of 'red' is not a number"),
        ({"target": "uniform", "categories": ["red"]}, r"categories \['red'\] is not text"),
        ({"target": "uniform", "categories": "red"}, "categories 'red' is not JSON"),
        ({"target": "uniform", "categories": '"red"'}, "is no list of text: write"),
        ({"target": "uniform", "categories": "[]"}, "no categories declared"),
        ({"target": "uniform", "categories": '["red", "red"]'}, "category 'red' is declared twice"),
        ({"target": "peak", "categories": '["red", "blue"]'}, "needs at least 3, got 2"),
        ({"target": '{"blue": 1}', "categories": '["red"]'}, "target names unknown category 'blue'"),
        ({"categories": '["red"]'}, "categories '\\[\"red\"\\]' without target: give that too, such as 'uniform'; "),
    ],
)
def test_a_target_that_makes_no_sense_is_one_clear_error(extra_info: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message) as error:
        row_target(extra_info, COLOURS)
    assert str(error.value).startswith("extra_info gives the prompt no good target: ")
    assert str(error.value).endswith("; rename the field of the data where it means something else")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "extra_info",
    [
        {"target": {"red": 1}},
        {"target": "even"},
        {"target": '{"red": -1}'},
        {"target": "uniform", "categories": "red"},
        {"target": "peak", "categories": '["red", "blue"]'},
        {"categories": '["red"]'},
    ],
)
def test_most_mistakes_are_told_before_it_is_known_which_categories_are_declared(extra_info: dict[str, Any]) -> None:
    with pytest.raises(MadrlError):
        check_row_target(extra_info, None)


def test_a_category_that_is_not_declared_is_an_error_once_they_are_known() -> None:
    for extra_info in ({"target": '{"mauve": 1}'}, {"target": "uniform", "categories": '["mauve"]'}):
        check_row_target(extra_info, None)
        with pytest.raises(MadrlError, match=r"names unknown category 'mauve': the declared categories are \['red'"):
            check_row_target(extra_info, COLOURS)


def test_a_response_on_disk_names_the_prompt_s_categories_by_the_keys_of_its_target() -> None:
    assert read_prompt_target('{"blue": 1, "red": 1}', COLOURS) == PromptTarget(("red", "blue"), (0.5, 0.5))
    assert read_prompt_target({"blue": 1, "red": 0}, COLOURS) == PromptTarget(("red", "blue"), (0.0, 1.0))
    assert read_prompt_target("uniform", COLOURS).categories == COLOURS
    np.testing.assert_array_equal(read_prompt_target({"blue": 1}, COLOURS).over(COLOURS), [0.0, 1.0, 0.0])
    for wrong in (3, ["red"], {"mauve": 1}, {"red": "much"}, {"red": object()}, "{"):
        with pytest.raises(MadrlError):
            read_prompt_target(wrong, COLOURS)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3).filter(any), st.permutations(COLOURS))
def test_a_target_comes_back_from_disk_to_the_last_bit(weights: list[float], order: list[str]) -> None:
    target = row_target({"target": json.dumps(dict(zip(order, weights, strict=True)))}, COLOURS)
    assert target is not None
    assert read_prompt_target(target.text, COLOURS) == target
    assert read_prompt_target(json.loads(target.text), COLOURS) == target


def test_the_page_s_examples_do_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[1] / "docs" / "targets.md"
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        exec(example, names)
    assert check_parquet("train.parquet", COLOURS) == 1
    assert row_target(names["row"]["extra_info"], COLOURS) == PromptTarget(("red", "blue"), (0.75, 0.25))
    assert names["score"].reward.tolist() == [0.0] * 4
