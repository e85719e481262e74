"""`madrl doctor` proves that the plug-ins are live, and says so when they are not."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def doctor(**variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "madrl.cli", "doctor"]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_a_good_installation_passes_every_check() -> None:
    done = doctor()
    assert done.returncode == 0, done.stdout + done.stderr
    for plugin in ("MadRewardManager", "GroupAgentLoopManager", "MadReplayBuffer"):
        assert plugin in done.stdout
    assert "BAD" not in done.stdout


def test_trouble_is_named_with_a_remedy_and_a_non_zero_exit(tmp_path: os.PathLike[str]) -> None:
    """A torch that cannot be imported, as a broken installation leaves it."""
    with open(os.path.join(tmp_path, "torch.py"), "w") as file:  # noqa: PTH118, PTH123
        file.write("raise ImportError('libtorch.so: cannot open shared object file')")
    done = doctor(PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "libtorch.so" in done.stdout
    assert "remedy: bash recipes/install.sh" in done.stdout
    assert "not ready to train" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_sandbox_that_the_environment_promises_must_be_there() -> None:
    done = doctor(MADRL_SANDBOX_URLS="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "BAD sandbox" in done.stdout
    assert "no service at http://127.0.0.1:9" in done.stdout
    assert "python -m sandbox" in done.stdout
