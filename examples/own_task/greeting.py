"""A task of one's own: greet somebody, in one of three languages."""

from madrl.rollout import Rollout

GREETINGS = {"english": "Hello", "spanish": "Hola", "french": "Bonjour"}


def classify(rollout: Rollout) -> str | None:
    """The one language that the response greets in; None, which is off-support, where it is none or several."""
    found = [language for language, word in GREETINGS.items() if word in rollout.response]
    return found[0] if len(found) == 1 else None


def verify(rollout: Rollout) -> bool:
    """Whether the response names who is to be greeted, the row's ground truth."""
    return rollout.ground_truth in rollout.response


def ask(prompt: str, category: str) -> str:
    """The prompt with a language asked for: what the warm start uses to reach every category."""
    return f"{prompt} Use {category.capitalize()}."
