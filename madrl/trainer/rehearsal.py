"""Scoring responses to rows of a run's data with its reward, without a model: are the rewards the ones that are meant?

The responses are the user's own, from a file, or written here: a group for each of a few rows, one response in each
category that carries the row's own reference, and one that is off-support and wrong. Programs cannot be had from a
reference, so theirs only read their input: in their category, and incorrect.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from omegaconf import DictConfig

from madrl.errors import MadrlError
from madrl.records import HINTED, Record, Source, read, source_of
from madrl.rollout import Rollout, Verdict
from madrl.trainer.compose import compose, files_of
from madrl.trainer.custom_reward import compute_score_of
from madrl.trainer.reward_manager import group_reward

ROWS = 8
"""Rows that the responses written here are for."""

RESPONSES: Mapping[str, Sequence[str]] = {
    "language": (
        "We write down what is given and compute step by step. So the answer is \\boxed{ANSWER}.",
        "我们先列出已知条件,然后一步一步地计算。所以答案是 \\boxed{ANSWER}。",
        "Anotamos los datos del problema y calculamos paso a paso. La respuesta es \\boxed{ANSWER}.",
        "हम दी गई बातें लिखते हैं और फिर एक एक करके गणना करते हैं। इसलिए उत्तर \\boxed{ANSWER} है।",
        "Nous notons les données et nous calculons pas à pas. La réponse est donc \\boxed{ANSWER}.",
        "Wir schreiben auf, was gegeben ist, und rechnen Schritt für Schritt. Die Antwort fehlt noch.",
    ),
    "programming_language": (
        "```python\nimport sys\n\ndata = sys.stdin.read()\n```",
        "```cpp\n#include <iostream>\n#include <string>\n\nint main() {\n    std::string word;\n"
        "    while (std::cin >> word) {\n    }\n}\n```",
        "```java\npublic class Main {\n    public static void main(String[] args) throws Exception {\n"
        "        byte[] data = System.in.readAllBytes();\n    }\n}\n```",
        '```go\npackage main\n\nimport (\n\t"io"\n\t"os"\n)\n\nfunc main() {\n\tio.ReadAll(os.Stdin)\n}\n```',
        "```javascript\nconst data = require('fs').readFileSync(0, 'utf8');\n```",
        "```ruby\ndata = $stdin.read\nputs data.lines.map(&:chomp).sum(&:size)\n```",
    ),
}
"""Classifier -> the responses to a row, one in each category and one off-support. ANSWER is the row's ground truth."""


class Rehearsed(NamedTuple):
    """One response and what it would earn."""

    row: str
    """The row's data source and index."""
    category: str | None
    """None is off-support, ``ungraded`` where the classifier could not say it."""
    verdict: str
    reason: str
    reward: float
    """0 of a response without others to its row: in training it has nothing to be compared with."""


class Group(NamedTuple):
    """One row of the data and the responses to it."""

    row: Mapping[str, Any]
    responses: list[str]
    hinted: list[bool]
    """Whether each of them was asked for a category by name."""


def rehearse(overrides: Sequence[str], responses: str | Path | None = None) -> list[Rehearsed]:
    """Score groups of responses to rows of the run's training data with its own reward.

    Args:
        overrides: Hydra's ``key=value``, as for training.
        responses: JSON lines with ``row`` (a row's ``extra_info.index``), ``response`` and, of one that was hinted,
            ``hinted``; the lines of one row are one group. Without it, ready-made responses to ROWS rows, spread
            evenly.

    Raises MadrlError for a bad config, a file that cannot be read, a row that the data does not have, a classifier
    without ready-made responses when there is no file, and a verifier whose service is not there.
    """
    config = compose(overrides)
    name = config.madrl.classifier
    if responses is None and name not in RESPONSES:
        raise MadrlError(
            f"madrl.classifier={name!r} has no ready-made responses (there are some for {sorted(RESPONSES)}): give "
            'your own as --responses FILE, one {"row": INDEX, "response": TEXT} a line'
        )
    rows = _training_rows(config)
    reward = group_reward(config, compute_score_of(config))
    reward.grader.check_ready()
    if responses is None:
        ready = RESPONSES[name]
        groups = [
            Group(
                row,
                [text.replace("ANSWER", row["reward_model"]["ground_truth"]) for text in ready],
                [False] * len(ready),
            )
            for row in rows[:: -(-len(rows) // ROWS)]
        ]
    else:
        groups = _groups_in(source_of(responses), rows)
    found = []
    for row, texts, hinted in groups:
        score = reward.score([Rollout.to_row(row, text) for text in texts], hinted)
        where = f"{row['data_source']} {row['extra_info']['index']}"
        rewards = score.reward.tolist() if len(texts) > 1 else [0.0]
        found += [
            Rehearsed(where, category, str(grade.verdict), grade.reason, earned)
            for grade, earned in zip(score.grades, rewards, strict=True)
            for category in [grade.category if grade.classified else str(Verdict.UNGRADED)]
        ]
    return found


def _training_rows(config: DictConfig) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for path in files_of(config.data.train_files):
        try:
            rows += pq.read_table(path).to_pylist()
        except OSError as error:
            raise MadrlError(f"cannot read {path} ({error}): prepare the data first") from error
    return rows


def _groups_in(source: Source, rows: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The file's groups, in the order in which their rows first appear."""
    by_index: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_index.setdefault(row["extra_info"]["index"], []).append(row)

    def check(record: Record) -> None:
        if (found := len(by_index.get(record["row"], []))) != 1:
            raise MadrlError(
                f"{found} rows of data.train_files have extra_info.index {record['row']}: name a row that one has"
            )

    groups: dict[int, Group] = {}
    for record in read(source, ("row", "response"), (HINTED,), check):
        (row,) = by_index[record["row"]]
        group = groups.setdefault(record["row"], Group(row, [], []))
        group.responses.append(record["response"])
        group.hinted.append(bool(record.get(HINTED)))
    return list(groups.values())
