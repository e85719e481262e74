"""The miniature warm start of the SYNTHETIC choice task: a model that answers validly, with a skewed mix.

It is what a GPU run gets from a pretrained model: something that answers with a listed option nearly always, and
favours some categories. Every response names one of the options, drawn by alphabetical rank from SKEW whatever the
order in which they are listed (a favourite that follows list position would pool to uniform over ranks).
"""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from madrl.files import replacing, sha256_of
from madrl.prompts import CHOICE_QUESTIONS, choice_prompt
from madrl.warm_start.tiny_model import build_model, build_tokenizer, save

SKEW = (0.45, 0.25, 0.10, 0.10, 0.10)
"""Share of each rank in the warm start: JSD 0.34 nats from the peaked target, 0.06 from the uniform one."""

EXAMPLES = 55_000
VOCAB_SIZE = 1500
HIDDEN_SIZE = 64
LAYERS = 2
STEPS = 850
SAVE_EVERY = 425


def choice_examples(rows: Sequence[Mapping[str, Any]], count: int, seed: int) -> list[tuple[str, str]]:
    """(prompt, response) pairs on the topics and in the form of ``rows``: any template, any option order, SKEWed."""
    rng = random.Random(seed)
    examples = []
    for _ in range(count):
        info = rng.choice(rows)["extra_info"]
        options = list(info["options"])
        response = rng.choices(options, SKEW)[0]
        rng.shuffle(options)
        listed = options if info["form"] == "closed" else None
        examples.append((choice_prompt(info["topic"], rng.randrange(len(CHOICE_QUESTIONS)), listed), response))
    return examples


def warm_start(data_dir: Path, out_dir: Path, seed: int) -> Path:
    """Build the tiny model and finetune it on the training topics of ``data_dir``; returns the model's folder.

    ``out_dir/model`` appears only when it is finished; called again with the same data and seed, it is returned as it
    is. A warm start that was stopped resumes from veRL's SFT checkpoint.
    """
    import pandas as pd

    from madrl.trainer.sft import finetune

    train_file = data_dir / "train.parquet"
    recipe = {
        "data": sha256_of(train_file),
        "seed": seed,
        "skew": SKEW,
        "examples": EXAMPLES,
        "vocab_size": VOCAB_SIZE,
        "hidden_size": HIDDEN_SIZE,
        "layers": LAYERS,
        "steps": STEPS,
    }
    marker, model_dir, work = out_dir / "warm_start.json", out_dir / "model", out_dir / "work"
    if marker.exists() and model_dir.exists():
        if json.loads(marker.read_text()) == json.loads(json.dumps(recipe)):
            return model_dir
        shutil.rmtree(out_dir)
    work.mkdir(parents=True, exist_ok=True)

    initial, sft_file = work / "initial", work / "sft.parquet"
    if not sft_file.exists():
        rows = pq.read_table(train_file).to_pylist()
        examples = choice_examples(rows, EXAMPLES, seed)
        tokenizer = build_tokenizer([f"user\n{p}\nassistant\n{r}" for p, r in examples], VOCAB_SIZE)
        save(tokenizer, build_model(tokenizer, HIDDEN_SIZE, LAYERS, seed), initial)
        messages = [[{"role": "user", "content": p}, {"role": "assistant", "content": r}] for p, r in examples]
        with replacing(sft_file) as unfinished:
            pd.DataFrame({"messages": messages}).to_parquet(unfinished)
    finished = finetune(
        initial, sft_file, work, config_name="warm_start_tiny", steps=STEPS, save_every=SAVE_EVERY, seed=seed
    )
    shutil.rmtree(model_dir, ignore_errors=True)
    with replacing(model_dir) as unfinished:
        shutil.copytree(finished, unfinished)
    with replacing(marker) as unfinished:
        unfinished.write_text(json.dumps(recipe, indent=2) + "\n")
    shutil.rmtree(work)
    return model_dir
