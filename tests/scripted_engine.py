"""An engine whose responses are written by the test, in place of vLLM, for what surrounds it; and rows, a model's
folder and a command line for `madrl generate`."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from madrl.sampling.engine import Batch, Generated, Prompts, Sampling
from madrl.sampling.requests import Request
from madrl.schema import make_row, write_parquet

Reply = Callable[[Request], Generated]


class ScriptedEngines:
    """Answers what ``reply`` says, and remembers what it was asked. ``start`` stands for the engines' own."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[Request] = []
        self.starts = 0
        self.gpus_per_engine: list[int] = []
        """As it was given for each file."""

    def start(self, sampling: Sampling, prompts: Prompts, gpus_per_engine: int, log_dir: Path) -> "ScriptedEngines":
        self.gpus_per_engine.append(gpus_per_engine)
        return self

    def __enter__(self) -> "ScriptedEngines":
        self.starts += 1
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def generate(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Generated]]]:
        for batch in batches:
            replies = [self.reply(request) for request in batch]
            self.asked += batch
            yield batch, replies


def write_rows(path: Path, count: int, prompt: Any = "Add.") -> Path:
    """Rows whose right answer is their index."""
    rows = [
        make_row(data_source="sums", prompt=prompt, ability="math", ground_truth=str(i), index=i, split=path.stem)
        for i in range(count)
    ]
    write_parquet(rows, path)
    return path


def safetensors(weights: bytes) -> bytes:
    """A file of weights with one tensor of these bytes."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(weights)], "data_offsets": [0, len(weights)]}}).encode()
    return len(header).to_bytes(8, "little") + header + weights


def write_model(folder: Path, weights: bytes = b"weights") -> Path:
    """A folder that passes for a Hugging Face model until something loads it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(safetensors(weights))
    return folder


def generate_command(rows: Path, model: Path, out: Path, samples: int, **options: str) -> list[str]:
    """The words of ``madrl generate`` for sums in five languages."""
    arguments = {
        "--model": str(model),
        "--data": str(rows),
        "-o": str(out),
        "--classifier": "language",
        "--verifier": "math",
        "--categories": "en,zh,es,hi,fr",
        "--samples": str(samples),
        "--max-response-tokens": "8",
    } | options
    return ["generate", *(word for pair in arguments.items() for word in pair)]
