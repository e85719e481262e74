"""Text from outside as Markdown."""

import re


def markdown_text(text: str) -> str:
    """One line of Markdown that is text and nothing else, in a table too."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(text.split()))
