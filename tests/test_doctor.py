"""`madrl doctor` proves that the plug-ins are live, and says so when they are not."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from madrl.doctor import _launch
from madrl.errors import MadrlError
from madrl.gpu_host import is_meant_for_gpus
from madrl.grading.choice import choice_ground_truth
from madrl.schema import make_row, write_parquet

pytestmark = pytest.mark.slow


def doctor(*options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "madrl.cli", "doctor", *options]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_a_good_installation_passes_every_check_and_json_is_one_object_on_stdout_whatever_the_libraries_print() -> None:
    done = doctor("--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["ready"] is True
    assert {"python", "verl", "config", "group reward", "disk"} <= {check["name"] for check in found["checks"]}
    assert set(found["checks"][0]) == {"name", "ok", "detail", "remedy"}
    assert not [check for check in found["checks"] if check["ok"] is False]


def test_trouble_is_named_with_a_remedy_and_a_non_zero_exit(tmp_path: os.PathLike[str]) -> None:
    """A torch that cannot be imported, as a broken installation leaves it."""
    with open(os.path.join(tmp_path, "torch.py"), "w") as file:  # noqa: PTH118, PTH123
        file.write("raise ImportError('libtorch.so: cannot open shared object file')")
    done = doctor(PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "libtorch.so" in done.stdout
    assert "remedy: madrl install cpu" in done.stdout
    assert "not ready to train" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_the_rows_of_a_task_of_one_s_own_have_to_be_there_and_a_sandbox_that_the_environment_promises_too(
    tmp_path: Path,
) -> None:
    shutil.copytree(Path(__file__).parents[1] / "examples" / "own_task", tmp_path / "own")
    subprocess.run([sys.executable, "prepare.py"], cwd=tmp_path / "own", check=True)
    (tmp_path / "own" / "data" / "validation.parquet").write_bytes(b"PAR1")
    done = doctor(f"task={tmp_path / 'own' / 'task.yaml'}", MADRL_SANDBOX_URLS="http://127.0.0.1:9")
    assert re.search(r"BAD launch .*data/validation.parquet: cannot be read as parquet", done.stdout)
    assert done.returncode == 2
    if not is_meant_for_gpus():
        assert done.stderr.endswith(" (this is about the gpu profile; add profile=tiny for a run on CPUs)\n")
    assert re.search(r"^madrl: error: not ready to train: .*\bsandbox\b", done.stderr, re.MULTILINE)
    assert "BAD sandbox" in done.stdout
    assert "no service at http://127.0.0.1:9" in done.stdout
    assert "madrl-sandbox" in done.stdout
    for plugin in (
        "reward_manager.MadRewardManager",
        "group_loop.GroupAgentLoopManager",
        "replay_buffer.MadReplayBuffer",
    ):
        assert f"veRL loads madrl.trainer.{plugin}\n" in done.stdout


def test_responses_that_are_not_there_are_named_also_where_prompts_have_targets_of_their_own(tmp_path: Path) -> None:
    row = make_row(
        data_source="oceans",
        prompt="Name an ocean.",
        ability="choice",
        ground_truth=choice_ground_truth(("Arctic", "Atlantic", "Indian", "Pacific", "Southern")),
        index=0,
        split="train",
        extra={"target": '{"rank_1": 3, "rank_2": 1}'},
    )
    for split in ("train", "validation"):
        write_parquet([row], tmp_path / f"{split}.parquet")
    words = ["task=synthetic_closed", "profile=tiny", f"paths.data={tmp_path}"]
    words += [f"data.val_files={tmp_path}/validation.parquet"]
    assert [check.detail for check in _launch(words, None)] == [
        "1 of 1 training prompts have targets of their own, 1 different ones",
        "launch check: not made, as prompts have targets of their own",
    ]
    with pytest.raises((MadrlError, OSError), match="no_such_file"):
        _launch(words, str(tmp_path / "no_such_file.jsonl"))


def test_json_is_printed_also_when_something_is_bad_and_the_exit_code_is_the_same(tmp_path: os.PathLike[str]) -> None:
    with open(os.path.join(tmp_path, "torch.py"), "w") as file:  # noqa: PTH118, PTH123
        file.write("import os\nprint('loading')\nos.system('echo from below')\nraise ImportError('libtorch.so')")
    done = doctor("--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert found["ready"] is False
    bad = next(check for check in found["checks"] if check["ok"] is False)
    assert "libtorch.so" in bad["detail"]
    assert bad["remedy"] == "madrl install cpu (or gpu), then run this again"
    assert f"madrl: error: not ready to train: {bad['name']}" in done.stderr
    assert "from below" in done.stderr
