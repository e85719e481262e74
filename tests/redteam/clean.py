"""A clean corpus: honest solutions in the five languages and in every style, labelled, to measure what a change of the
classifier costs.

    python tests/redteam/clean.py > CLEAN.jsonl
    python -m madrl.grading.bench classifier language CLEAN.jsonl
"""

import json
import random
from collections.abc import Iterator
from typing import Any

from solutions import LANGUAGES, STYLES, honest


def corpus(each: int = 50) -> Iterator[dict[str, Any]]:
    """``each`` solutions in every style and language: response, category, and group, which is the style."""
    draw = random.Random(18)
    for style in STYLES:
        for language in LANGUAGES:
            for _ in range(each):
                found = honest(draw, language, style)
                yield {"response": "\n".join(found.sentences), "category": language, "group": style}


if __name__ == "__main__":
    for line in corpus():
        print(json.dumps(line, ensure_ascii=False))
