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

from madrl.files import locked, replacing, sha256_of
from madrl.prompts import CHOICE_QUESTIONS, choice_prompt
from madrl.schema import check_parquet
from madrl.warm_start.tiny_model import build_model, build_tokenizer, save

SKEW = (0.45, 0.25, 0.10, 0.10, 0.10)
"""Share of each rank in the warm start: JSD 0.34 nats from the peaked target, 0.06 from the uniform one."""

EXAMPLES = 45_000
VOCAB_SIZE = 1500
HIDDEN_SIZE = 64
LAYERS = 2
STEPS = 1350
SAVE_EVERY = 450


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
    is. A warm start that was stopped resumes from veRL's SFT checkpoint. Raises MadrlError when the data cannot be
    read, another process makes this model, or veRL fails.
    """
    train_file = data_dir / "train.parquet"
    check_parquet(train_file)
    recipe = {
        "data": sha256_of(train_file),
        "seed": seed,
        "skew": list(SKEW),
        "examples": EXAMPLES,
        "vocab_size": VOCAB_SIZE,
        "hidden_size": HIDDEN_SIZE,
        "layers": LAYERS,
        "steps": STEPS,
    }
    marker, model_dir, work = out_dir / "warm_start.json", out_dir / "model", out_dir / "work"
    with locked(out_dir / ".lock", f"{out_dir} is being made by another process: wait for it to end"):
        if model_dir.exists() and _read(marker) == recipe:
            return model_dir
        if _read(work / "recipe.json") != recipe:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            _write(work / "recipe.json", recipe)
        finished = _train(train_file, work, seed)
        marker.unlink(missing_ok=True)
        shutil.rmtree(model_dir, ignore_errors=True)
        with replacing(model_dir) as unfinished:
            shutil.copytree(finished, unfinished)
        _write(marker, recipe)
        shutil.rmtree(work)
    return model_dir


def _train(train_file: Path, work: Path, seed: int) -> Path:
    """The finished model's folder under ``work``; what is there already is used."""
    import pandas as pd

    from madrl.trainer.sft import finetune

    initial, sft_file = work / "initial", work / "sft.parquet"
    if not sft_file.exists():
        examples = choice_examples(pq.read_table(train_file).to_pylist(), EXAMPLES, seed)
        tokenizer = build_tokenizer([f"user\n{p}\nassistant\n{r}" for p, r in examples], VOCAB_SIZE)
        save(tokenizer, build_model(tokenizer, HIDDEN_SIZE, LAYERS, seed), initial)
        messages = [[{"role": "user", "content": p}, {"role": "assistant", "content": r}] for p, r in examples]
        with replacing(sft_file) as unfinished:
            pd.DataFrame({"messages": messages}).to_parquet(unfinished)
    return finetune(
        initial, sft_file, work, config_name="warm_start_tiny", steps=STEPS, save_every=SAVE_EVERY, seed=seed
    )


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def _write(path: Path, recipe: Mapping[str, Any]) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text(json.dumps(recipe, indent=2) + "\n")
