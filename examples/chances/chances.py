"""Does the model answer as often as the odds say? A response's category is the outcome that it names, by its place in
the prompt: first, second or third."""

import json
import re

from madrl.rollout import Rollout

PLACES = ("first", "second", "third")


def classify(rollout: Rollout) -> str | None:
    """The place of the one outcome that the response names; None, which is off-support, where it is none or several.

    The row's ground truth has the outcomes, in the order of the prompt.
    """
    outcomes = json.loads(rollout.ground_truth)["odds"]
    words = set(re.findall(r"[a-z]+", rollout.response.lower()))
    named = [place for place, outcome in zip(PLACES, outcomes, strict=False) if outcome in words]
    return named[0] if len(named) == 1 else None


def verify(rollout: Rollout) -> bool:
    """Every outcome may happen: the odds are all that is asked for."""
    return True
