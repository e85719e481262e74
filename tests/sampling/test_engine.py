"""The engines of `madrl generate`: processes and devices, with a process that answers with the seed; and the real one,
killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from scripted_engine import generate_command, write_rows

from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.records import name_of
from madrl.sampling.engine import Engines, Prompts, Sampling, engine_devices
from madrl.sampling.requests import Request
from madrl.schema import Message

EARLY = r"vLLM ended early \(.*Error.*\): see .*engine-0.log"
SAMPLES, ROWS = 32, 64  # four batches of 512
TEXTS = ["We have to add the two numbers.", "Tenemos que sumar los dos números.", "user Add. assistant"]


class Real:
    """Calls of the command in processes of their own, on a micro model and rows made once."""

    def __init__(self, folder: Path) -> None:
        from madrl.miniature.model import build_model, build_tokenizer, save

        self.folder = folder
        self.rows = write_rows(folder / "rows.parquet", ROWS)
        self.model = folder / "model"
        tokenizer = build_tokenizer(TEXTS, 300)
        save(tokenizer, build_model(tokenizer, hidden_size=32, layers=1, seed=0), self.model)

    def start(self, out: str) -> "subprocess.Popen[str]":
        argv = generate_command(self.rows, self.model, self.folder / out, SAMPLES)
        return subprocess.Popen(
            [sys.executable, "-m", "madrl.cli", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, out: str) -> str:
        process = self.start(out)
        shown, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return shown


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    return Real(tmp_path_factory.mktemp("real"))


ENGINE = """
import os, sys, time
from multiprocessing.connection import Connection
from madrl.sampling.engine import Generated
connection = Connection(int(sys.argv[1]))
sampling, longest, gpus = connection.recv()
while batch := connection.recv():
    time.sleep(0.02)
    device = os.environ.get("CUDA_VISIBLE_DEVICES") or os.environ["OMP_NUM_THREADS"] + " threads"
    connection.send([Generated(str(seed), device, gpus, len(tokens)) for tokens, seed in batch])
"""
"""An engine's process that answers with the seed."""


def test_several_engines_share_the_batches_and_each_answer_is_that_of_its_request(
    real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    prompts: Prompts = {(row, None): [Message(role="user", content="Add. " * (row + 1))] for row in range(7)}
    sampling = Sampling(str(real.model), max_response_tokens=8)
    batches = [[Request(row, None, k) for k in range(row + 1)] for row in range(7)]
    with Engines(sampling, prompts, 1, tmp_path, [sys.executable, "-c", ENGINE]) as engines:
        answers = {batch[0].row: answered for batch, answered in engines.generate(batches)}
    for batch in batches:
        answered = answers[batch[0].row]
        assert [answer.text for answer in answered] == [str(request.seed(42)) for request in batch]
    lengths = [answers[row][0].prompt_tokens for row in range(7)]
    assert lengths == sorted(set(lengths)), "each longer than the one before"
    assert {answer.finish_reason for answered in answers.values() for answer in answered} == {"0", "1"}, "both asked"
    assert {answer.response_tokens for answered in answers.values() for answer in answered} == {1}, "one GPU each"


def test_the_likeliest_token_alone_is_the_same_for_every_seed(real: Real, tmp_path: Path) -> None:
    prompts: Prompts = {(0, None): [Message(role="user", content="Add.")]}
    sampling = Sampling(str(real.model), max_response_tokens=8, top_k=1)
    with Engines(sampling, prompts, 1, tmp_path) as engines:
        [(_, answers)] = engines.generate([[Request(0, None, k) for k in range(16)]])
    assert len({answer.text for answer in answers}) == 1


@pytest.mark.parametrize(("variable", "threads"), [(None, "6 threads"), ("3", "3 threads")])
def test_an_engine_on_the_cpu_has_all_cores_that_the_process_may_use_or_as_many_threads_as_are_set(
    variable: str | None, threads: str, real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    prompts: Prompts = {(0, None): [Message(role="user", content="Add.")]}
    sampling = Sampling(str(real.model), max_response_tokens=8)
    with Engines(sampling, prompts, 1, tmp_path, [sys.executable, "-c", ENGINE]) as engines:
        [(_, [answer])] = engines.generate([[Request(0, None, 0)]])
    assert answer.finish_reason == threads


@pytest.mark.parametrize(
    ("count", "variable", "expected"),
    [(0, None, [None]), (2, None, ["0", "1"]), (2, "4,7", ["4", "7"]), (0, "", [None])],
)
def test_there_is_an_engine_for_each_visible_gpu_or_one_on_the_cpu(
    count: int, variable: str | None, expected: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert engine_devices(1) == expected


def test_an_engine_takes_as_many_gpus_as_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3,4,5")
    assert engine_devices(2) == ["2,3", "4,5"]
    for size in (3, 0):
        with pytest.raises(MadrlError, match=f"4 GPUs cannot be shared out {size} to an engine"):
            engine_devices(size)


# The real engine.


def holds_a_batch(path: Path) -> bool:
    """Whether a whole line is there. Half of one can be seen, and is lost when its writer is killed then."""
    try:
        return path.read_bytes().endswith(b"\n")
    except FileNotFoundError:  # not yet, or no longer
        return False


@pytest.mark.verl(group="vllm")
@pytest.mark.slow
@pytest.mark.nightly
def test_the_real_engine_killed_in_the_middle_ends_with_the_file_of_an_undisturbed_call(real: Real) -> None:
    engines: list[psutil.Process] = []
    for _ in range(5):
        process = real.start("killed.jsonl")
        batches = real.folder / ".killed.jsonl.partial" / "responses.jsonl"
        deadline = time.monotonic() + 300
        while process.poll() is None and not holds_a_batch(batches):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        engines = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        if process.returncode == -signal.SIGKILL and not (real.folder / "killed.jsonl").exists():
            break
        assert process.returncode in (0, -signal.SIGKILL), errors
        (real.folder / "killed.jsonl").unlink()  # killed too late to show anything
    gone, alive = psutil.wait_procs(engines, timeout=300)
    assert gone
    assert not alive, "an engine outlived the process that started it"

    assert "of them by an earlier call" in real.run("killed.jsonl")
    real.run("undisturbed.jsonl")
    lines = read_jsonl(real.folder / "undisturbed.jsonl")
    assert [name_of(line) for line in lines] == [(str(row), k, 0) for row in range(ROWS) for k in range(SAMPLES)]
    assert len({line["response"] for line in lines if line["row"] == 0}) > SAMPLES / 2, "samples differ"
    assert (real.folder / "killed.jsonl").read_bytes() == (real.folder / "undisturbed.jsonl").read_bytes()


@pytest.mark.verl(group="vllm")
@pytest.mark.slow
def test_an_engine_that_cannot_start_is_one_error_that_names_its_log(real: Real, tmp_path: Path) -> None:
    model = shutil.copytree(real.model, tmp_path / "model")
    (model / "model.safetensors").write_bytes(b"weights")
    prompts: Prompts = {(0, None): [Message(role="user", content="Add.")]}
    with (
        Engines(Sampling(str(model), max_response_tokens=8), prompts, 1, tmp_path / "logs") as engines,
        pytest.raises(MadrlError, match=EARLY),
    ):
        list(engines.generate([[Request(0, None, 0)]]))


def test_prompts_that_leave_no_room_for_a_response_are_an_error_before_anything_is_started(
    real: Real, tmp_path: Path
) -> None:
    prompts: Prompts = {(0, None): [Message(role="user", content="Add.")]}
    sampling = Sampling(str(real.model), max_response_tokens=10**6)
    with (
        pytest.raises(MadrlError, match=r"leaves no room for 1000000 more in the model's context"),
        Engines(sampling, prompts, 1, tmp_path / "logs"),
    ):
        pass
    assert not (tmp_path / "logs").exists()
