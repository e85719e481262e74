"""Which category is asked for by name, from what a run has written so far."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl.errors import MadrlError
from madrl.hints import ShareMean, counted_sessions, hinted_sessions
from madrl.records import line_of, write
from madrl.run_folder import RunFolder
from madrl.settings import Settings


def settings(target: Any = "uniform", **changes: Any) -> Settings:
    node = {
        "categories": ["en", "zh", "es", "fr"],
        "target": target,
        "classifier": "language",
        "verifier": "math",
        "reward": {"divergence": "rkl", "form": "additive", "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001},
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "hints": 2,
        "task": "mine",
        "profile": "tiny",
        "naming": "language",
    }
    return Settings.from_config(node | changes)


def records(own: str, hinted: str = "", asked: str = "fr") -> list[dict[str, Any]]:
    """Score records: ``own`` and ``hinted`` have a letter for each response's category, ``-`` for off-support."""
    names = {"e": "en", "z": "zh", "s": "es", "f": "fr", "-": None}
    return [{"category": names[c], "hinted": None} for c in own] + [
        {"category": names[c], "hinted": asked} for c in hinted
    ]


def mean(tmp_path: Path, target: Any = "uniform") -> ShareMean:
    return ShareMean(settings(target), RunFolder(tmp_path))


def test_the_last_sessions_of_a_group_are_hinted_and_one_of_a_small_group() -> None:
    assert list(hinted_sessions(2, 16)) == [14, 15]
    assert list(hinted_sessions(2, 8)) == [6, 7]
    assert list(hinted_sessions(2, 7)) == [6]
    assert [counted_sessions(2, size) for size in (16, 8, 7, 1)] == [14, 6, 6, 1]
    assert list(hinted_sessions(1, 3)) == [2]
    assert list(hinted_sessions(0, 16)) == list(hinted_sessions(0, 4)) == []


def test_never_is_half_of_a_group_hinted() -> None:
    assert list(hinted_sessions(7, 16)) == list(range(9, 16))
    assert list(hinted_sessions(8, 16)) == []
    assert list(hinted_sessions(1, 2)) == []


def test_nothing_is_asked_for_before_anything_is_known(tmp_path: Path) -> None:
    assert mean(tmp_path).before(1).lacking(1) is None


def test_the_mean_is_exponential_and_leaves_hinted_and_off_support_responses_out(tmp_path: Path) -> None:
    found = mean(tmp_path)
    found.update(records("eeez-", "ffff"))  # 3/4, 1/4, 0, 0
    np.testing.assert_allclose(found.mean, [0.75, 0.25, 0, 0])  # type: ignore[arg-type]
    found.update(records("eess"))  # .9 * .75 + .1 * .5 = .725, .9 * .25 = .225, .1 * .5 = .05
    np.testing.assert_allclose(found.mean, [0.725, 0.225, 0.05, 0])  # type: ignore[arg-type]
    found.update([record | {"category": None, "classified": False} for record in records("eeee")])
    found.update(records("---"))
    np.testing.assert_allclose(found.mean, [0.725, 0.225, 0.05, 0], err_msg="no share, no step")  # type: ignore[arg-type]


def test_the_category_that_lacks_most_of_its_target_is_asked_for_while_it_has_less_than_half(tmp_path: Path) -> None:
    found = mean(tmp_path, {"en": 5, "zh": 1, "es": 3, "fr": 1})
    found.update(records("eeeeeeeezs"))  # .8 / .5, .1 / .1, .1 / .3 = 1/3, 0 / .1
    assert found.lacking(1) == "fr"
    found = mean(tmp_path, {"en": 5, "zh": 1, "es": 3, "fr": 1})
    found.update(records("eeeeeeezsf"))  # .1 / .3 = 1/3 is the lowest
    assert found.lacking(1) == "es"
    found = mean(tmp_path, {"en": 4, "zh": 4, "fr": 2})
    found.update(records("eeeeezzzzf"))  # .1 / .2 = 1/2 is not less
    assert found.lacking(1) is None


def test_an_excluded_category_is_never_asked_for(tmp_path: Path) -> None:
    found = mean(tmp_path, {"zh": 1, "es": 1})
    found.update(records("ezs"))
    assert found.lacking(1) is None


def test_a_run_that_goes_on_chooses_from_its_scores_as_it_would_have(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.scores.mkdir()
    batches = [records("eezzs"), records("eees", "fz"), records("ezsf", "ff"), records("eeee", "--")]
    undisturbed = mean(tmp_path)
    choices = []
    for step, batch in enumerate(batches, start=1):
        choices.append(undisturbed.before(step).lacking(step))
        write(run.scores / f"{step}.jsonl", map(line_of, batch))
    assert choices == [None, "fr", "fr", "fr"]
    for step in range(1, 5):  # started again before each step; later steps' files are of the attempt that was killed
        resumed = mean(tmp_path).before(step)
        assert resumed.lacking(step) == choices[step - 1]
    expected: Any = undisturbed.before(5).mean
    np.testing.assert_array_equal(mean(tmp_path).before(5).mean, expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"naming": None}, "madrl.hints=2: no prompt of the task asks for its categories; set madrl.naming"),
        ({"hints": -1}, "madrl.hints=-1 is not a whole number"),
        ({"hints": 1.5}, "madrl.hints=1.5 is not a whole number"),
        ({"hints": True}, "madrl.hints=True is not a whole number"),
        ({"hints": None}, "madrl.hints=None is not a whole number"),
        ({"reward": {"form": "rlvr"}}, "madrl.hints=2 with madrl.reward.form=rlvr: .* use one of"),
        ({"reward": {"form": "gapo"}}, "madrl.hints=2 with madrl.reward.form=gapo"),
    ],
)
def test_hints_that_could_not_work_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        settings(**changes)


def test_the_config_of_a_run_from_before_there_were_hints_has_none() -> None:
    node = {name: value for name, value in vars(settings()).items() if name != "hints"}
    assert Settings.from_config(node | {"reward": {}, "target": "uniform"}).hints == 0
