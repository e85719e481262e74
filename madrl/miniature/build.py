"""Building a task's miniature model: from random weights, with veRL's own SFT trainer, on examples made here."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from madrl.files import locked, replacing, sha256_of, write_json
from madrl.miniature.model import build_model, build_tokenizer, save
from madrl.miniature.tasks import Miniature, miniature_of, turns_of
from madrl.recipe import CONFIG_DIR
from madrl.schema import check_parquet
from madrl.source import digest, imported_by
from madrl.tasks import Task

CHECKPOINTS = 3
"""How many are saved in the course of the finetuning. A kill costs what came after the last."""

MAKERS = ("madrl.miniature.", "madrl.prompts", "madrl.grading.choice", "madrl.grading.normal_form")
"""The modules whose code the examples, the untrained model and its finetuning follow from, beside this one."""


def build(
    task: Task, data_dir: Path, out_dir: Path, seed: int, base: bool = False, skew: tuple[float, ...] | None = None
) -> Path:
    """Build the miniature of ``task``, or with ``base`` its base model, and finetune it on what the training rows of
    ``data_dir`` allow; returns the model's folder.

    ``out_dir/model`` appears only when it is finished; called again with the same data, seed and code, it is returned
    as it is. One that was stopped resumes from veRL's SFT checkpoint. ``skew`` takes the place of the miniature's own.
    Raises MadrlError as ``miniature_of``, and when the data cannot be read, another process makes this model, or veRL
    fails.
    """
    miniature = miniature_of(task, base, skew)
    train_file = data_dir / "train.parquet"
    check_parquet(train_file)
    # Through JSON and back, since it is compared with what a file holds.
    facts = {"task": task.name, "data": sha256_of(train_file), "seed": seed, "code": _code(), **miniature.facts()}
    recipe = json.loads(json.dumps(facts))
    marker, model_dir, work = out_dir / "miniature.json", out_dir / "model", out_dir / "work"
    with locked(out_dir / ".lock", f"{out_dir} is being made by another process: wait for it to end"):
        if model_dir.exists() and _read(marker) == recipe:
            return model_dir
        if _read(work / "recipe.json") != recipe:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            write_json(work / "recipe.json", recipe)
        finished = _train(miniature, train_file, work, seed)
        marker.unlink(missing_ok=True)
        shutil.rmtree(model_dir, ignore_errors=True)
        with replacing(model_dir) as unfinished:
            shutil.copytree(finished, unfinished)
        write_json(marker, recipe)
        shutil.rmtree(work)
    return model_dir


def _train(miniature: Miniature, train_file: Path, work: Path, seed: int) -> Path:
    """The finished model's folder under ``work``; what is there already is used."""
    import pandas as pd

    from madrl.trainer.sft import Finetuning, finetune

    initial, sft_file = work / "initial", work / "sft.parquet"
    if not sft_file.exists():
        examples = miniature.draw(pq.read_table(train_file).to_pylist(), seed)
        messages = [[*turns_of(p), {"role": "assistant", "content": r}] for p, r in examples]
        texts = ("\n".join(f"{turn['role']}\n{turn['content']}" for turn in turns) for turns in messages)
        tokenizer = build_tokenizer(texts, miniature.vocab_size)
        save(tokenizer, build_model(tokenizer, miniature.hidden_size, miniature.layers, seed), initial)
        with replacing(sft_file) as unfinished:
            pd.DataFrame({"messages": messages}).to_parquet(unfinished)
    return finetune(
        Finetuning(
            model=str(initial),
            train_file=sft_file,
            work_dir=work,
            config_name="miniature_sft",
            steps=miniature.steps,
            save_every=max(1, miniature.steps // CHECKPOINTS),
            seed=seed,
            overrides={
                "data.train_batch_size": miniature.batch_size,
                "data.micro_batch_size_per_gpu": miniature.batch_size // 2,  # the step's share of each of two processes
                "data.max_length": miniature.max_length,
                "optim.lr": miniature.lr,
            },
        )
    )


def _code() -> str:
    """The hash of the code behind a miniature, beside its facts: MAKERS, and the finetuning's config."""
    modules = imported_by(("madrl.miniature.model", "madrl.miniature.tasks"))
    own = {name: path for name, path in modules.items() if name.startswith(MAKERS)} | {__name__: Path(__file__)}
    return hashlib.sha256(f"{digest(own)} {sha256_of(CONFIG_DIR / 'miniature_sft.yaml')}".encode()).hexdigest()


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None
