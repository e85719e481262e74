"""What the policy of a run actually writes: some responses of each category and verdict, as HTML.

Responses are what a policy under optimisation writes: hostile text. Everything is escaped and cut.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from madrl.evaluation.dumps import Run
from madrl.records import Record, classified, last_turns
from madrl.report.page import text
from madrl.rollout import Verdict

SAMPLES_OF_CATEGORY = 6
"""Sample responses of each category, at most: shared between the verdicts as far as there are any."""

SHOWN_CHARACTERS = 4000
"""The longest prompt or response: a policy that floods must not make the page one nobody can open."""


class Sample(NamedTuple):
    """A response to be shown, as the run dumped it."""

    category: str
    """off-support where it has none."""
    verdict: str
    prompt: str
    response: str
    facts: dict[str, str]


def sample_responses(run: Run) -> Iterator[Sample]:
    """The first responses of each category in the newest dump, the holdout's where validation has one of the same step:
    verdicts in turn, no problem twice with one verdict."""
    dumps = (dump for folder in (run.folder.holdout, run.folder.validation) for dump in run.dumps(folder))
    _, last = max(dumps, key=lambda dump: dump[0], default=(0, []))
    names = ("reason",) if run.settings.verifier == "code" else ("reason", "answer", "ground_truth")
    rows = classified(last_turns(last))
    for category in (*run.settings.categories, None):
        by_verdict: dict[Verdict, dict[str, Record]] = defaultdict(dict)
        for row in rows:
            if row.get("category") == category:
                by_verdict[Verdict.of(row.get("correct"))].setdefault(str(row.get("prompt")), row)
        by_turn = zip_longest(*(found.values() for found in by_verdict.values()))
        turns = [row for turn in by_turn for row in turn if row is not None]
        for row in turns[:SAMPLES_OF_CATEGORY]:
            facts = {name: str(row[name]) for name in names if row.get(name) not in (None, "")}
            facts |= {"cut": "at the length limit"} if row.get("finish_reason") == "length" else {}
            facts |= {"reward": f"{row['reward']:.3f}"} if isinstance(row.get("reward"), float) else {}
            prompt, response = str(row.get("prompt", "")), str(row.get("response", ""))
            yield Sample(category or "off-support", Verdict.of(row.get("correct")), prompt, response, facts)


def samples_html(run: Run, samples: Sequence[Sample]) -> str:
    """The section of the page, with buttons that filter it by category and verdict; nothing without samples."""
    if not samples:
        return ""
    categories = [
        name for name in (*run.settings.categories, "off-support") if any(s.category == name for s in samples)
    ]
    verdicts = [name for name in Verdict if any(s.verdict == name for s in samples)]
    out = ['<section id="samples"><h2>Sample responses</h2><p class="caption">From the last dump, the first of each '
           f'category and verdict. <span id="samples-shown">{len(samples)} shown</span></p>']  # fmt: skip
    for key, names in (("category", categories), ("verdict", verdicts)):
        buttons = [f'<button value="" aria-pressed="true">every {key}</button>']
        buttons += [f'<button value="{text(name)}" aria-pressed="false">{text(name)}</button>' for name in names]
        out.append(f'<div class="choices" data-filter="{key}">{"".join(buttons)}</div>')
    for sample in samples:
        facts = "".join(
            f"<span>{text({'ground_truth': 'expected'}.get(name, name))}: {_cut(value, 120)}</span>"
            for name, value in sample.facts.items()
        )
        out.append(
            f'<article class="sample" data-category="{text(sample.category)}" data-verdict="{sample.verdict}"><header>'
            f'<b>{text(sample.category)}</b><span class="verdict {sample.verdict}">{sample.verdict}</span>'
            f"{facts}</header>"
            f'<pre dir="auto">{_cut(sample.response, SHOWN_CHARACTERS)}</pre><details><summary>prompt</summary>'
            f'<pre dir="auto">{_cut(sample.prompt, SHOWN_CHARACTERS)}</pre></details></article>'
        )
    return "\n".join([*out, "</section>"])


def _cut(value: str, characters: int) -> str:
    rest = len(value) - characters
    return text(value) if rest <= 0 else f"{text(value[:characters])}<i> … {rest} more characters</i>"
