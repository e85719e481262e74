"""An engine whose responses are written by the test, in place of vLLM: for what surrounds it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from madrl.sampling.engine import Generated, Prompted
from madrl.sampling.generate import Responses
from madrl.sampling.requests import Request
from madrl.schema import make_row, write_parquet

Reply = Callable[[Request], Generated]


class ScriptedEngines:
    """Answers what ``reply`` says, and remembers what it was asked."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[Request] = []
        self.starts = 0

    def __enter__(self) -> "ScriptedEngines":
        self.starts += 1
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def generate(
        self, batches: Iterable[tuple[Sequence[Request], Sequence[Prompted]]]
    ) -> Iterator[tuple[Sequence[Request], list[Generated]]]:
        for batch, _ in batches:
            replies = [self.reply(request) for request in batch]
            self.asked += batch
            yield batch, replies


def script(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> ScriptedEngines:
    """Have ``reply`` answer in place of every model."""
    engines = ScriptedEngines(reply)

    def start(self: Responses) -> Any:
        self._prompts = defaultdict(lambda: [1, 2])
        return engines

    monkeypatch.setattr(Responses, "_start_engines", start)
    return engines


def write_rows(path: Path, count: int, prompt: Any = "Add.") -> Path:
    """Rows whose right answer is their index."""
    rows = [
        make_row(data_source="sums", prompt=prompt, ability="math", ground_truth=str(i), index=i, split=path.stem)
        for i in range(count)
    ]
    write_parquet(rows, path)
    return path


def write_model(folder: Path, weights: bytes = b"weights") -> Path:
    """A folder that passes for a Hugging Face model until something loads it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder
