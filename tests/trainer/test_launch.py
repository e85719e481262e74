"""The run folder: who may write to it, what it remembers, and what stops a run from being mixed with another."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf
from scripted_engine import write_rows

from madrl import process
from madrl.errors import MadrlError
from madrl.files import locked
from madrl.grading.choice import choice_ground_truth
from madrl.grading.programs.program import URLS_VARIABLE
from madrl.process import CPU_ENVIRONMENT, run_logged
from madrl.run_folder import RunFolder
from madrl.schema import make_row, write_parquet
from madrl.trainer import launch
from madrl.trainer.cluster import forwarded
from madrl.trainer.compose import compose
from madrl.trainer.launch import _claim, _is_finished, _one_of_its_own, _remove_old_checkpoints, inputs_of, train
from madrl.trainer.rehearsal import rehearse

DEADLINE_S = 300.0

OWN_TASK = Path(__file__).parents[2] / "examples" / "own_task"


def overrides(run: Path, *more: str) -> list[str]:
    return ["task=synthetic_closed", "trainer.experiment_name=x", f"paths.run={run}", *more]


def test_a_dry_run_prints_the_config_and_touches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(overrides(tmp_path / "run"), dry_run=True)
    assert "MadRewardManager" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


def test_the_launch_check_of_a_dry_run_counts_the_responses_that_are_not_hinted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mix = "madrl.target={rank_1: 80, rank_2: 20}"
    size = "actor_rollout_ref.rollout.n=8"
    train(overrides(tmp_path, mix, size), dry_run=True)
    assert capsys.readouterr().err == "", "1.6 responses of 8"
    train(overrides(tmp_path, mix, size, "madrl.hints=2", "madrl.naming=option"), dry_run=True)
    assert "wants 20% rank_2, 1.2 of 6 responses" in capsys.readouterr().err
    patterns = "classifier_args: {patterns: {yes: y, no: n}}, categories: [yes, no], target: {yes: 9, no: 1}"
    train(overrides(tmp_path, size, f"madrl.attributes={{said: {{classifier: regex, {patterns}}}}}"), dry_run=True)
    assert "launch check of said: the target wants 10% no, 0.8 of 8 responses" in capsys.readouterr().err


def test_a_run_folder_refuses_another_run(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    _claim(run, compose(overrides(tmp_path)))
    with pytest.raises(MadrlError, match=r"madrl.reward.divergence='rkl', not 'l2': give this one another name"):
        _claim(run, compose(overrides(tmp_path, "madrl.reward.divergence=l2")))


def test_a_finished_run_that_kept_no_checkpoint_is_not_trained_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "validation"):
        (tmp_path / "data").mkdir(exist_ok=True)
        truth = choice_ground_truth(("a", "b", "c", "d", "e"))
        row = make_row(data_source="s", prompt="Name one.", ability="choice", ground_truth=truth, index=0, split=split)
        write_parquet([row], tmp_path / "data" / f"{split}.parquet")
    run = RunFolder(tmp_path / "run")
    mine = overrides(run.root, "trainer.save_freq=-1", "trainer.total_training_steps=2", "paths.model=nowhere")
    mine += [f"paths.data={tmp_path}/data", f"data.val_files={tmp_path}/data/validation.parquet"]
    run.metrics.mkdir(parents=True)
    run.facts.write_text(json.dumps({"attempts": [{"status": "finished", "overrides": []}]}))
    run.attempt_metrics(1).write_text("".join(f'{{"step": {step}, "data": {{}}}}\n' for step in (0, 1, 2)))
    train(mine)
    assert capsys.readouterr().out == (
        f"{run.root}: already trained to step 2; no checkpoint was kept: to train it again, give it another name\n"
    )
    with pytest.raises(MadrlError, match="cannot load the tokenizer of 'nowhere'"):
        train([*mine, "trainer.total_training_steps=3"])  # which it has not been


def test_a_run_whose_last_validation_was_made_again_is_finished(tmp_path: Path) -> None:
    """veRL saves, validates and then logs a step: of one that was killed while it validated there are no metrics."""
    run = RunFolder(tmp_path)
    run.metrics.mkdir()
    run.attempt_metrics(1).write_text('{"step": 1, "data": {}}\n')
    run.checkpoints.mkdir()
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("2")
    attempts = [{"status": "killed", "overrides": []}]
    for status, finished in (("running", False), ("finished", True)):
        run.facts.write_text(json.dumps({"attempts": [*attempts, {"status": status, "overrides": []}]}))
        assert _is_finished(run, 2) is finished
    assert not _is_finished(run, 3)


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Trains a task of the user's own in ``tmp_path``, and is interrupted after the checkpoint of step 1."""
    module = f"greeting_{tmp_path.name}"  # which no other test has imported
    shutil.copy(OWN_TASK / "greeting.py", tmp_path / f"{module}.py")
    task_file = (OWN_TASK / "task.yaml").read_text().replace("greeting:", f"{module}:")
    (tmp_path / "task.yaml").write_text(task_file)
    (tmp_path / "data").mkdir()
    for split in ("train", "validation"):
        write_rows(tmp_path / "data" / f"{split}.parquet", 2)

    def run_verl(run: RunFolder, *rest: object) -> None:
        run.checkpoints.mkdir(exist_ok=True)
        (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("1")
        raise MadrlError("interrupted")

    monkeypatch.setattr(launch, "_run_verl", run_verl)
    monkeypatch.setattr(launch, "check_prompt_lengths", lambda config: None)
    task = [f"task={tmp_path}/task.yaml", "profile=tiny", "paths.model=nowhere"]

    def call() -> None:
        with pytest.raises(MadrlError, match=r"^interrupted$"):
            train([*overrides(tmp_path / "run")[1:], *task])

    call()
    return call


@pytest.mark.parametrize(
    ("file", "word", "other", "changed"),
    [
        ("greeting_{0.name}.py", "Bonjour", "Salut", "code of madrl.classifier=greeting_{0.name}:classify"),
        ("data/train.parquet", "", "", "rows of {0}/data/train.parquet"),
        ("data/validation.parquet", "", "", "rows of {0}/data/validation.parquet"),
    ],
)
def test_a_run_does_not_go_on_with_other_rows_or_with_other_code_of_the_user_s_own(
    file: str, word: str, other: str, changed: str, tmp_path: Path, interrupted: Callable[[], None]
) -> None:
    path = tmp_path / file.format(tmp_path)
    was = path.read_bytes()
    write_rows(path, 3) if not word else path.write_bytes(was.replace(word.encode(), other.encode()))
    assert path.read_bytes() != was
    config = (tmp_path / "run" / "config.yaml").read_bytes()
    message = f"{tmp_path}/run came to step 1 with another version of the {changed.format(tmp_path)}"
    with pytest.raises(MadrlError, match=f"^{message}.*: put that back, or give this one another name \\(NAME=, or "):
        train([*overrides(tmp_path / "run")[1:], f"task={tmp_path}/task.yaml", "profile=tiny", "paths.model=nowhere"])
    assert (tmp_path / "run" / "config.yaml").read_bytes() == config
    path.write_bytes(was)
    interrupted()


def test_a_run_goes_on_where_nothing_of_what_it_learns_from_changed(
    tmp_path: Path, interrupted: Callable[[], None]
) -> None:
    code = tmp_path / f"greeting_{tmp_path.name}.py"
    code.write_text(f"# A comment.\n{code.read_text()}")
    write_rows(tmp_path / "data" / "holdout.parquet", 1)  # which it does not train on
    interrupted()
    code.write_text(f"{code.read_text()}\nFURTHER = 1\n")
    tracker = tmp_path / "run" / "checkpoints" / "latest_checkpointed_iteration.txt"
    tracker.unlink()
    interrupted()  # from the beginning: nothing of it was trained with other code
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    del facts["inputs"]  # one of before they were kept
    (tmp_path / "run" / "run.json").write_text(json.dumps(facts))
    write_rows(tmp_path / "data" / "train.parquet", 3)
    interrupted()


def test_the_same_rows_in_other_bytes_are_the_same(tmp_path: Path, interrupted: Callable[[], None]) -> None:
    file = tmp_path / "data" / "train.parquet"
    was = file.read_bytes()
    pq.write_table(pq.read_table(file), file, compression="gzip")
    assert file.read_bytes() != was
    interrupted()


def test_what_a_reward_function_imports_from_beside_it_is_code_of_the_run(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        write_rows(tmp_path / f"{split}.parquet", 2)
    package = f"rewards_{tmp_path.name}"
    for folder in (tmp_path, tmp_path / package):
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text("from scale import S\n\ndef compute_score(**_):\n    return S\n")
        (folder / "scale.py").write_text("S = 1.0\n")
    (tmp_path / package / "mine.py").write_text("from .scale import S\n\ndef compute_score(**_):\n    return S\n")
    (tmp_path / package / "__init__.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    try:
        for path, scale in (
            (f"{tmp_path}/mine.py", tmp_path / "scale.py"),
            (f"file://{tmp_path}/mine.py", tmp_path / "scale.py"),
            (f"pkg://{package}/mine", tmp_path / package / "scale.py"),
        ):
            config = compose(
                overrides(tmp_path / "run", f"paths.data={tmp_path}", f"data.val_files={tmp_path}/validation.parquet")
            )
            config.reward.custom_reward_function.path = path
            before = inputs_of(config)
            scale.write_text("# A comment.\nS = 1.0\n")
            assert inputs_of(config) == before
            scale.write_text("S = 0.0\n")
            changed = {what for what, sha256 in inputs_of(config).items() if sha256 != before[what]}
            assert changed == {f"code of reward.custom_reward_function.path={path}"}
            scale.write_text("S = 1.0\n")
    finally:
        sys.path.remove(str(tmp_path))


def test_a_run_whose_config_names_its_rows_by_a_relative_path_goes_on(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    config = compose(overrides(tmp_path, "data.train_files=data/train.parquet"))
    _claim(run, config)
    written = run.config.read_text().replace(f"{Path.cwd()}/data/train.parquet", "data/train.parquet")
    assert "train_files: data/train.parquet" in written
    run.config.write_text(written)
    _claim(run, config)


def test_a_run_may_be_trained_further(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    _claim(run, compose(overrides(tmp_path)))
    _claim(run, compose(overrides(tmp_path, "trainer.total_training_steps=7000")))
    assert "total_training_steps: 7000" in run.config.read_text()


@pytest.mark.parametrize(
    ("keep", "left"), [(2, [400, 500]), (3, [300, 400, 500]), (1, [400, 500]), (None, [100, 200, 300, 400, 500])]
)
def test_a_resume_leaves_no_checkpoints_behind_that_no_attempt_would_remove(
    keep: int | None, left: list[int], tmp_path: Path
) -> None:
    """Of which veRL knows none in a new attempt. That of step 500 was being saved when the run was killed."""
    run = RunFolder(tmp_path)
    for step in (100, 200, 300, 400, 500):
        run.model(step).mkdir(parents=True)
    copies = [run.checkpoints / f"global_step_100_{word}" for word in ("best", "2")]
    for copy in copies:
        (copy / "actor").mkdir(parents=True)
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("400")
    _remove_old_checkpoints(run, keep)
    assert [step for step in (100, 200, 300, 400, 500) if run.model(step).exists()] == left
    assert all((copy / "actor").exists() for copy in copies)


def test_the_workers_of_a_cluster_wait_as_long_for_the_queue_as_those_of_a_ray_of_a_run_s_own() -> None:
    assert int(forwarded()["TQ_STORAGE_HANDSHAKE_TIMEOUT"]) >= 300


def test_a_run_goes_on_in_another_ray_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is started again has another head."""
    for address in ("node1:6379", "node7:6379", None):
        monkeypatch.setenv("RAY_ADDRESS", address) if address else monkeypatch.delenv("RAY_ADDRESS")
        _claim(RunFolder(tmp_path), compose(overrides(tmp_path, "profile=gpu")))
        assert f"address: {address or 'local'}" in RunFolder(tmp_path).config.read_text()


def test_a_run_that_the_launch_check_stopped_goes_on_with_a_warning_in_its_own_folder(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    _claim(run, compose(overrides(tmp_path)))
    _claim(run, compose(overrides(tmp_path, "madrl.launch_check=warn")))
    assert run.settings().launch_check == "warn"


def test_transfer_queue_is_asked_for_no_more_threads_than_there_are_and_has_nothing_to_say(tmp_path: Path) -> None:
    """It warned at every request, 40,000 times in a run."""
    code = (
        "from transfer_queue import client\n"
        "with client.limit_pytorch_auto_parallel_threads(target_num_threads=client.TQ_NUM_THREADS): pass"
    )
    run_logged([sys.executable, "-c", code], tmp_path / "log", {}, cpu=True)
    assert "target_num_threads" not in (tmp_path / "log").read_text()


def test_a_lock_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with locked(lock, "busy"), pytest.raises(MadrlError, match="busy"), locked(lock, "busy"):
        pass
    with locked(lock, "busy"):
        pass


@pytest.mark.parametrize("first", ["local", "10.0.0.1:6379"])
@pytest.mark.parametrize("second", ["local", "10.0.0.1:6379"])
def test_trainings_of_one_machine_take_turns_also_with_one_on_a_cluster(
    first: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")  # which ray.init("local") does not look at
    monkeypatch.setattr(launch, "check_alone", lambda address: None)
    run = RunFolder(tmp_path)
    ours, theirs = (OmegaConf.create({"ray_kwargs": {"ray_init": {"address": address}}}) for address in (first, second))
    began = threading.Event()

    def train_another() -> None:
        with _one_of_its_own(run, theirs):
            began.set()

    with _one_of_its_own(run, ours):
        other = threading.Thread(target=train_another)
        other.start()
        said = ""
        deadline = time.monotonic() + DEADLINE_S
        while "waits for its turn" not in said:
            assert time.monotonic() < deadline, "it did not say that it waits"
            time.sleep(0.05)
            said += capsys.readouterr().out
        assert not began.is_set()
    other.join(DEADLINE_S)
    assert began.is_set()


def test_a_socket_of_another_user_is_named_before_verl_would_fail_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    monkeypatch.setattr(process, "VERL_SOCKETS", tmp_path / process.VERL_SOCKETS.name)
    config = OmegaConf.create({"ray_kwargs": {"ray_init": {"address": "local"}}})
    path = tmp_path / "rl-colocate-zmq-01000000-replica-0-rank-0.sock"
    path.touch()
    with _one_of_its_own(RunFolder(tmp_path), config):
        pass
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    said = rf"^{path} belongs to the user with the id {owner}, .*: wait for .* a container"
    with pytest.raises(MadrlError, match=said), _one_of_its_own(RunFolder(tmp_path), config):
        pass
    path.rename(tmp_path / "rl-colocate-zmq-05000000-replica-0-rank-0.sock")
    with _one_of_its_own(RunFolder(tmp_path), config):  # a Ray of its own has no fifth job
        pass


@pytest.mark.parametrize("cpu", [True, False])
def test_the_workers_of_a_cluster_that_runs_already_get_what_a_cpu_needs_and_on_gpus_do_not(
    cpu: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not inherit our environment: what they get stands in the command."""
    commands: list[str] = []
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    monkeypatch.setattr(launch, "check_alone", lambda address: None)
    monkeypatch.setattr(launch, "run_logged", lambda command, *rest, **options: commands.extend(command))
    config = compose(overrides(tmp_path, "++ray_kwargs.ray_init.address=10.0.0.1:6379"))
    config.trainer.device = "cpu" if cpu else "cuda"
    launch._run_verl(RunFolder(tmp_path), config, [], {}, lambda: None)
    given = [word.partition("env_vars.")[2].partition("=")[0] for word in commands if "env_vars." in word]
    assert (CPU_ENVIRONMENT.keys() <= set(given)) is cpu
    assert ("VERL_PLATFORM" in given) is cpu
    assert "VLLM_NO_USAGE_STATS" in given


def test_variables_of_the_config_win_over_those_that_a_cpu_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile of the small model asks for two threads; a training that got one took 1.4 times as long."""
    commands: list[str] = []
    monkeypatch.setattr(process, "OWN_RAY_LOCK", tmp_path / "turn")
    monkeypatch.setattr(launch, "run_logged", lambda command, *rest, **options: commands.extend(command))
    config = compose(overrides(tmp_path))
    config.ray_kwargs.ray_init.runtime_env = {"env_vars": {"OMP_NUM_THREADS": "7"}}
    launch._run_verl(RunFolder(tmp_path), config, [], {}, lambda: None)
    given = [word.rpartition("env_vars.")[2] for word in commands if "env_vars.OMP_NUM_THREADS=" in word]
    assert given in (["OMP_NUM_THREADS='7'"], ['OMP_NUM_THREADS="7"'])


def test_the_trainer_keeps_the_lock_when_its_launcher_is_killed(tmp_path: Path) -> None:
    """A launcher that is gone must not let a second trainer start beside the first."""
    lock, started = tmp_path / ".lock", tmp_path / "started"
    launcher = f"""
from pathlib import Path
from madrl.files import locked
from madrl.process import run_logged
with locked({str(lock)!r}, "busy"):
    run_logged(
        ["sh", "-c", "echo $$ >{started}.new; mv {started}.new {started}; exec sleep 1000"],
        Path({str(tmp_path)!r}) / "log", {{}}, cpu=True,
    )
"""
    process = subprocess.Popen([sys.executable, "-c", launcher])
    while not started.exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    try:
        with pytest.raises(MadrlError, match="busy"), locked(lock, "busy"):
            pass
    finally:
        os.kill(int(started.read_text()), signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            with locked(lock, "busy"):
                return
        except MadrlError:
            assert time.monotonic() < deadline, "the lock outlived the trainer"
            time.sleep(0.2)


def test_missing_data_is_named_before_anything_is_started(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"nowhere/train.parquet: cannot be read as parquet"):
        train(overrides(tmp_path / "run", f"paths.data={tmp_path}/nowhere"))
    assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_tracker_is_named_with_its_remedy(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    (run.checkpoints / "global_step_20").mkdir(parents=True)
    (run.checkpoints / "latest_checkpointed_iteration.txt").write_text("")
    with pytest.raises(MadrlError, match=r"is damaged: write the number of the newest of \['global_step_20'\]"):
        run.checkpoint_step()


@pytest.mark.parametrize("start", [train, rehearse])
def test_a_run_and_its_rehearsal_ask_for_the_sandbox_before_they_start(
    start: Callable[[list[str]], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URLS_VARIABLE, "http://127.0.0.1:9")
    data, run = tmp_path / "data", tmp_path / "run"
    data.mkdir()
    truth = json.dumps({"tests": [{"input": "", "output": "1"}]})
    for split in ("train", "validation"):
        row = make_row(
            data_source="code_contests", prompt="Print 1.", ability="code", ground_truth=truth, index=0, split=split
        )
        write_parquet([row], data / f"{split}.parquet")
    settings = ["task=code_contests", "trainer.experiment_name=x", "paths.model=m", f"paths.run={run}"]
    with pytest.raises(MadrlError, match="no sandbox answers"):
        start([*settings, f"paths.data={data}"])
    assert not (run / "train.log").exists()
