"""The config's madrl node: what of it is checked together."""

from typing import Any

import pytest

from madrl.errors import MadrlError
from madrl.settings import Settings

REWARD = {"divergence": "l2", "form": "gapo", "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001}


def node(target: Any, **reward: Any) -> dict[str, Any]:
    return {
        "categories": ["en", "zh", "es", "hi", "fr"],
        "target": target,
        "classifier": "language",
        "verifier": "math",
        "reward": REWARD | reward,
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "task": "mine",
        "profile": "tiny",
        "naming": None,
    }


def test_the_plug_ins_arguments_are_mappings_which_an_older_run_s_config_lacks() -> None:
    assert Settings.from_config(node("uniform", form="additive")).classifier_args == {}
    given = node("uniform") | {"classifier_args": {"a": 1}, "verifier_args": None}
    assert (Settings.from_config(given).classifier_args, Settings.from_config(given).verifier_args) == ({"a": 1}, {})
    with pytest.raises(
        MadrlError, match=r"madrl.verifier_args=\[1\] is not a mapping: write madrl.verifier_args={name"
    ):
        Settings.from_config(node("uniform") | {"verifier_args": [1]})


@pytest.mark.parametrize("target", ["peak", {"en": 2, "zh": 1}])
def test_gapo_with_a_target_that_is_not_uniform_is_one_clear_error(target: Any) -> None:
    with pytest.raises(MadrlError, match="GAPO has no other target than uniform"):
        Settings.from_config(node(target))
    assert Settings.from_config(node(target, form="additive")).reward.form == "additive"


def test_the_gate_s_floor_may_be_null_and_nothing_else_may() -> None:
    reward = {"off_support": "flat", "off_support_reward": -2, "gate_floor": None}
    found = Settings.from_config(node("uniform", form="additive", **reward)).reward
    assert (found.off_support, found.off_support_reward, found.gate_floor) == ("flat", -2, None)
    assert Settings.from_config(node("uniform", form="gated", gate_floor=0)).reward.gate_floor == 0
    with pytest.raises(MadrlError, match="alpha=None is not a number"):
        Settings.from_config(node("uniform", alpha=None))


@pytest.mark.parametrize("target", ["uniform", dict.fromkeys(("en", "zh", "es", "hi", "fr"), 0.1)])
def test_gapo_takes_the_uniform_target_under_any_name(target: Any) -> None:
    assert Settings.from_config(node(target)).reward.form == "gapo"
