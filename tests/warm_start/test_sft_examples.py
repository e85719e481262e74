"""What is learnt: as much of each category, from prompts that name none."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from madrl.prompts import load_naming
from madrl.sampling.requests import messages_of
from madrl.schema import Message, Row, make_row
from madrl.targets import uniform
from madrl.tasks import LANGUAGE_NAMES, TASKS
from madrl.warm_start.sampling import messages, mixed, write_examples


def lines(category: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "asked": category,
            "group": f"{i}-{category}",
            "session": 0,
            "turn": 0,
            "row": i,
            "response": f"{category} {i}",
        }
        for i in range(count)
    ]


KEPT = {"en": lines("en", 9), "zh": lines("zh", 3), "hi": lines("hi", 5)}


def test_the_scarcest_category_decides_how_many_of_each_are_learnt() -> None:
    for at_most, expected in ((100, 3), (2, 2)):
        chosen = mixed(KEPT, uniform(3), at_most, seed=1)
        for name in KEPT:
            assert sorted(c["response"] for c in chosen if c["asked"] == name) == [
                f"{name} {i}" for i in range(expected)
            ]


def test_a_target_s_shares_are_learnt_of_the_categories_that_it_wants() -> None:
    def chosen(at_most: int) -> Counter[str]:
        wanted = {name: KEPT[name] for name in ("en", "hi")}
        return Counter(line["asked"] for line in mixed(wanted, np.array([0.6, 0.0, 0.4]), at_most, seed=1))

    # 5 of Hindi, which is scarcer for what is wanted of it, and 7.5 of English beside it.
    assert chosen(100) == {"en": 7, "hi": 5}
    assert chosen(6) == {"en": 6, "hi": 4}


def test_the_order_is_random_and_follows_from_the_seed() -> None:
    assert (
        mixed(KEPT, uniform(3), 3, seed=1) == mixed(KEPT, uniform(3), 3, seed=1) != mixed(KEPT, uniform(3), 3, seed=2)
    )
    assert [line["asked"] for line in mixed(KEPT, uniform(3), 3, seed=1)] != ["en"] * 3 + ["zh"] * 3 + ["hi"] * 3


def test_the_learnt_prompt_is_the_row_s_own_and_names_no_category(tmp_path: Path) -> None:
    system: Message = {"role": "system", "content": "Be brief."}
    rows: dict[int, Row] = {
        i: make_row(
            data_source="math",
            prompt=[system, {"role": "user", "content": TASKS["math"].prompt(f"{i} + 1?")}],
            ability="math",
            ground_truth=str(i + 1),
            index=i,
            split="train",
        )
        for i in range(9)
    }
    asked = messages_of(rows[0], "hi", load_naming("language"))
    assert "Hindi" in asked[-1]["content"], "what the response was asked with"
    write_examples(mixed(KEPT, uniform(3), 3, seed=1), rows, tmp_path / "sft.parquet")
    table = pq.read_table(tmp_path / "sft.parquet").to_pylist()
    assert len(table) == 9
    names = "|".join(LANGUAGE_NAMES.values())
    for row in table:
        *prompt, answer = row["messages"]
        index = int(row["group"].partition("-")[0])
        assert prompt == rows[index]["prompt"]
        assert answer == {"role": "assistant", "content": f"{row['category']} {index}"}
        assert not re.search(names, str(prompt))
    assert messages(KEPT["hi"][0], rows)[-1]["role"] == "assistant"
