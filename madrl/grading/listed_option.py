"""SYNTHETIC: naming any one of the listed options is correct, so that the choice of category cannot affect it."""

from madrl.errors import MadrlError
from madrl.grading.choice import CHOICE_CATEGORIES, choice_key, classify_choice
from madrl.rollout import Rollout, Verification


async def verify_listed_option(rollout: Rollout) -> Verification:
    """CORRECT, with the option as it is spelled in the data, when the response names exactly one; else INCORRECT with
    the classifier's reason. UNGRADED when the ground truth is no list of options: the row is at fault."""
    try:
        category, reason = classify_choice(rollout)
    except MadrlError as error:
        return Verification(None, reason=str(error))
    if category is None:
        return Verification(0.0, reason=reason)
    option = choice_key(rollout.ground_truth).options[CHOICE_CATEGORIES.index(category)]
    return Verification(1.0, answer=option)
