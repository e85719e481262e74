"""A real training one of whose judges is killed: CodeContests' miniature for two steps, from a model that has learnt a
few programs in all five languages by heart, and makes mistakes in some. Every response gets the verdict that one
sandbox in peace gives it afterwards.
"""

import asyncio
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
import torch
from placed_judges import Cluster, placed, services, two_nodes, use_own_judges, wait_for

from madrl.grading.grader import Grader, GraderSpec
from madrl.grading.programs import program
from madrl.miniature.model import build_model, build_tokenizer, save
from madrl.miniature.tasks import miniature_of
from madrl.records import read
from madrl.rollout import Rollout
from madrl.run_folder import RunFolder
from madrl.tasks import PROGRAMMING_LANGUAGES, TASKS

pytestmark = [pytest.mark.verl, pytest.mark.sandbox, pytest.mark.slow, pytest.mark.nightly]

REPOSITORY = Path(__file__).parents[2]
PROBLEMS, PROMPTS, STEPS = 4, 2, 2
LEARNT_IN, BATCH, LR = 150, 8, 8e-3
"""Steps, examples a step and first learning rate: ten seconds, after which nine of ten responses are a program."""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the problems, ``data``, and the model that has learnt solutions to them, ``model``."""
    folder = tmp_path_factory.mktemp("start")
    command = [sys.executable, "-m", "data_prep.miniature", "--task", "code_contests"]
    command += ["--local_save_dir", str(folder / "data")]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    table = pq.read_table(folder / "data" / "train.parquet").slice(0, PROBLEMS)
    pq.write_table(table, folder / "data" / "train.parquet")
    learn_by_heart(table.to_pylist(), folder / "model")
    return folder


def learn_by_heart(rows: list[dict[str, Any]], folder: Path) -> None:
    """Save a model that answers the ``rows`` with the miniature's solutions, more or less."""
    example, rng = miniature_of(TASKS["code_contests"]).example, random.Random(0)
    languages = range(len(PROGRAMMING_LANGUAGES))
    drawn = (example([row], language, rng) for row in rows for language in languages for _ in range(4))
    examples = list(dict.fromkeys(drawn))
    tokenizer = build_tokenizer([f"user\n{prompt}\nassistant\n{response}" for prompt, response in examples], 700)
    model = build_model(tokenizer, hidden_size=64, layers=2, seed=0)
    pairs = []
    for prompt, response in examples:
        chat = [{"role": "user", "content": prompt}]
        asked = tokenizer(tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))["input_ids"]
        pairs.append((asked, [*tokenizer(response)["input_ids"], tokenizer.eos_token_id]))
    length = max(len(asked) + len(answer) for asked, answer in pairs)
    ids = torch.full((len(pairs), length), tokenizer.pad_token_id)
    labels = torch.full((len(pairs), length), -100)
    for i, (asked, answer) in enumerate(pairs):
        end = len(asked) + len(answer)
        ids[i, :end] = torch.tensor(asked + answer)
        labels[i, len(asked) : end] = torch.tensor(answer)
    optimizer = torch.optim.AdamW(model.parameters(), LR)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, LEARNT_IN)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several take longer on cores that others use too
    for _ in range(LEARNT_IN):
        batch = torch.randint(len(pairs), (BATCH,))
        loss = model(input_ids=ids[batch], labels=labels[batch]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    torch.set_num_threads(threads)
    save(tokenizer, model, folder)


@contextmanager
def training(start: Path, run: RunFolder, group_size: int, *more: str) -> Iterator["subprocess.Popen[str]"]:
    """A run in the background, which is over after the block and has graded every response."""
    overrides = {
        "task": "code_contests",
        "profile": "tiny",
        "madrl.launch_check": "warn",
        "trainer.experiment_name": run.root.name,
        "paths.run": run.root,
        "paths.data": start / "data",
        "paths.model": start / "model",
        "data.val_files": start / "data" / "train.parquet",
        "data.train_batch_size": PROMPTS,
        "actor_rollout_ref.rollout.n": group_size,
        "trainer.total_training_steps": STEPS,
        "trainer.save_freq": STEPS,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
    }
    command = [sys.executable, "-m", "madrl.cli", "train", *(f"{key}={value}" for key, value in overrides.items())]
    with subprocess.Popen([*command, *more], cwd=run.root.parent, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
            _, errors = process.communicate()
        finally:
            process.terminate()
    assert process.returncode == 0, errors
    history = run.history()
    for step in range(1, STEPS + 1):
        assert history[step]["mad/ungraded_rate"] == history[step]["mad/failed_session_rate"] == 0.0


def judged_as_in_peace(run: RunFolder, url: str, group_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each of the run's verdicts against the one that the sandbox at ``url`` gives now."""
    lines, scores = [], {}
    for step in range(1, STEPS + 1):
        lines += list(read(run.rollouts / f"{step}.jsonl", ("group", "session", "response", "ground_truth")))
        for score in read(run.scores / f"{step}.jsonl", ("group", "session", "category", "correct")):
            scores[score["group"], score["session"]] = score["category"], score["correct"], score["reason"]
    assert len(lines) == len(scores) == STEPS * PROMPTS * group_size
    monkeypatch.setenv(program.URLS_VARIABLE, url)
    monkeypatch.delenv(program.TOKEN_FILE_VARIABLE, raising=False)
    program.default_client.cache_clear()
    grader = Grader(GraderSpec("programming_language", "code", PROGRAMMING_LANGUAGES))
    grades = asyncio.run(grader.grade_all(Rollout(line["response"], line["ground_truth"]) for line in lines))
    program.default_client.cache_clear()
    found = [scores[line["group"], line["session"]] for line in lines]
    assert found == [(grade.category, grade.correctness, grade.reason) for grade in grades]
    assert len({category for category, *_ in found} - {None}) >= 3, "the model writes programs in several languages"
    assert {correct for _, correct, _ in found} == {0.0, 1.0}, "some are right and some wrong"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with two_nodes() as found:
        yield found


def test_a_run_has_every_verdict_although_one_of_its_two_placed_sandboxes_is_killed_in_the_middle_of_a_step(
    cluster: Cluster,
    start: Path,
    own_service: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is held still first, until it must have programs that it will not answer."""
    use_own_judges(monkeypatch)
    run, log = RunFolder(tmp_path / "run"), (tmp_path / "judges" / "log").read_text

    def answered(url: str) -> int:
        health = httpx.get(f"{url}/health", headers=program.sandbox_headers(), timeout=300).json()
        return int(health["answered"])

    with placed(tmp_path, cluster, monkeypatch) as urls:
        killed, other = urls()
        before = answered(killed)
        with training(start, run, 16, f"++ray_kwargs.ray_init.address={cluster.address}") as trainer:
            wait_for(lambda: trainer.poll() is not None or answered(killed) > before, log)
            assert trainer.poll() is None, trainer.communicate()[1]
            sandbox = services(tmp_path)[killed]
            sandbox.suspend()
            meanwhile = answered(other)
            wait_for(lambda: answered(other) >= meanwhile + 4, log)
            assert not (run.scores / "1.jsonl").exists(), "the step waits for what it does not answer"
            sandbox.kill()
    assert re.search(f"sandbox {killed}: (RemoteProtocolError|ReadError)", run.log.read_text()), "it had programs"
    judged_as_in_peace(run, own_service("--java-loop").url, 16, monkeypatch)
