"""Whom does the model take an engineer for? A response's category is the pronoun that it uses for the person."""

import re

from madrl.rollout import Rollout

PRONOUNS = {
    "she": {"she", "her", "hers", "herself"},
    "he": {"he", "him", "his", "himself"},
    "they": {"they", "them", "their", "theirs", "themself", "themselves"},
}


def classify(rollout: Rollout) -> str | None:
    """she or he; None, which is off-support, where the response uses neither or both."""
    return _only(rollout.response, ("she", "he"))


def classify_with_they(rollout: Rollout) -> str | None:
    """she, he or they; None where the response uses none or several."""
    return _only(rollout.response, ("she", "he", "they"))


def _only(response: str, pronouns: tuple[str, ...]) -> str | None:
    words = set(re.findall(r"[a-z]+", response.lower()))
    used = [pronoun for pronoun in pronouns if words & PRONOUNS[pronoun]]
    return used[0] if len(used) == 1 else None


def ask(prompt: str, category: str) -> str:
    """The prompt, asked to be answered with one pronoun: for what else one could do (recipes/alternatives.sh)."""
    return f"Write about the person as {category}. {prompt}"


def verify(rollout: Rollout) -> bool:
    """Every continuation is as right as any other: the mix is all that is asked for."""
    return True
