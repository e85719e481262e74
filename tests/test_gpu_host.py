"""`madrl doctor` on hosts with GPUs, sound and broken ones. A host is what the environment says: programs on PATH, and
packages and a torch that sees GPUs on PYTHONPATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from madrl.doctor import _launch, _on_gpus, _with_profile, report
from madrl.errors import MadrlError
from madrl.gpu_host import accelerator, driver, flash_attention, is_meant_for_gpus, room_for, toolkit
from madrl.trainer.compose import compose

GPU = ["task=synthetic_closed", "profile=gpu"]
NAMED = ["trainer.experiment_name=x", "paths.model=x"]

SEES = """
import torch
torch.version.cuda = "13.0"
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 8
torch.cuda.get_device_name = lambda device=None: "NVIDIA H100 80GB HBM3"
"""
"""A ``sitecustomize`` for a torch that is built for CUDA 13 and sees 8 GPUs."""


class Host:
    """Programs, packages and variables that make a host."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.site = folder / "bin", folder / "site"
        self.programs.mkdir()
        self.site.mkdir()

    def program(self, name: str, text: str, exit_code: int = 0) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{text}'\nexit {exit_code}\n")
        path.chmod(0o755)

    def flash_attn(self, version: str, init: str = "") -> None:
        (self.site / "flash_attn").mkdir()
        (self.site / "flash_attn" / "__init__.py").write_text(init)
        (self.site / "flash_attn" / "bert_padding.py").touch()
        metadata = self.site / f"flash_attn-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: flash-attn\nVersion: {version}\n")

    def doctor(self, *overrides: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        path = f"{self.programs}:{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if name not in ("PROFILE", "RAY_ADDRESS")}
        environment = kept | {"PATH": path, "PYTHONPATH": str(self.site)} | variables
        command = [sys.executable, "-m", "madrl.cli", "doctor", *overrides]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path)
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    monkeypatch.delenv("PROFILE", raising=False)
    return made


@pytest.mark.slow
def test_a_sound_gpu_host_passes_every_check(host: Host) -> None:
    host.program("nvidia-smi", "580.95.05")
    host.program("nvcc", "Cuda compilation tools, release 13.0, V13.0.88")
    host.flash_attn("2.8.3")
    (host.site / "sitecustomize.py").write_text(SEES)
    done = host.doctor(*GPU, "++ray_kwargs.ray_init.num_cpus=34")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "ok  driver          580.95.05; torch is built for CUDA 13.0, which runs from 580 on" in lines
    assert "ok  nvcc            CUDA 13.0" in lines
    assert "ok  gpu             8 x NVIDIA H100 80GB HBM3" in lines
    assert "ok  flash-attn      2.8.3" in lines
    assert "ok  ray cpus        34 here; 34 for 8 GPUs a node" in lines
    assert "ok  config          every key of all profiles is known to the installed veRL" in lines


@pytest.mark.slow
def test_a_broken_gpu_host_is_told_everything_that_is_wrong_with_it_at_once(host: Host) -> None:
    host.program("nvidia-smi", "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.", 9)
    done = host.doctor("++ray_kwargs.ray_init.num_cpus=16", *GPU, PATH=str(host.programs))
    assert done.returncode == 2
    said = done.stdout
    assert "BAD driver          nvidia-smi says: NVIDIA-SMI has failed because it could not communicate" in said
    assert "remedy: install NVIDIA's driver, 580 or newer" in said
    assert "--  nvcc            no nvcc on PATH; needed only to build kernels from source" in said
    assert "BAD gpu             torch sees no GPU, and the gpu profile trains on nothing else" in said
    assert "is built without CUDA: madrl install gpu in an environment of its own" in said
    assert "--  flash-attn      flash-attn is not here" in said
    assert "BAD ray cpus        Ray has 16 CPUs here, and a run with 8 GPUs holds 34" in said
    assert "remedy: veRL would wait for the rest" in said
    assert done.stderr.splitlines()[-1] == "madrl: error: not ready to train: driver, gpu, ray cpus"


@pytest.mark.slow
def test_a_flash_attn_with_which_verl_cannot_be_imported_is_named(host: Host) -> None:
    host.flash_attn("2.8.3", "raise ImportError('flash_attn_2_cuda.so: undefined symbol: _ZN3c104')")
    done = host.doctor(PROFILE="gpu", PATH=str(host.programs))
    assert done.returncode == 2
    assert "BAD driver          no nvidia-smi on PATH" in done.stdout
    assert "BAD flash-attn      2.8.3 cannot be imported: flash_attn_2_cuda.so: undefined symbol" in done.stdout
    assert "remedy: pip uninstall flash-attn, then FLASH_ATTN_WHEEL=FILE madrl install gpu" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("overrides", "profile", "on_gpus"),
    [
        ([], None, False),
        ([], "gpu", True),
        ([], "tiny", False),
        (["task=math"], None, True),  # whose profile is gpu
        (["task=math"], "small", False),
        (["task=math", "profile=tiny", "profile=gpu"], "tiny", True),
    ],
)
def test_the_profile_says_whether_a_host_without_gpus_is_a_bad_one(
    overrides: list[str], profile: str | None, on_gpus: bool, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(host.programs))
    if profile:
        monkeypatch.setenv("PROFILE", profile)
    assert _on_gpus(overrides) is on_gpus
    assert accelerator(needs_gpu=on_gpus)[0].ok is (False if on_gpus else None)


def test_the_profile_of_the_environment_is_that_of_the_run_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["task=synthetic_closed", "madrl.target={rank_1: 95, rank_2: 5}"]
    monkeypatch.setenv("PROFILE", "tiny")
    # 5 % of a group of 16, where the gpu profile has 32.
    assert "0.8 of 16 responses" in _launch(_with_profile(words), None)[0].detail
    assert _launch(_with_profile([*words, "profile=gpu"]), None)[0].ok
    assert _with_profile([]) == []
    monkeypatch.setenv("PROFILE", "tinny")
    with pytest.raises(MadrlError, match=r"^PROFILE='tinny' does not exist: use one of gpu, small, tiny$"):
        report(as_json=False)


def test_nvidia_smi_alone_makes_a_host_one_for_gpus(host: Host) -> None:
    assert not is_meant_for_gpus()
    host.program("nvidia-smi", "580.95.05")
    assert is_meant_for_gpus()
    assert _on_gpus([])


@pytest.mark.parametrize(
    ("cuda", "version", "ok"),
    [("13.0", "580.65.06", True), ("13.0", "575.57.08", False), ("12.8", "535.104.05", True), ("14.0", "700.1", None)],
)
def test_a_driver_must_be_new_enough_for_the_cuda_of_torch(
    cuda: str, version: str, ok: bool | None, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.version.cuda", cuda)
    host.program("nvidia-smi", version)
    (found,) = driver()
    assert found.ok is ok
    assert version in found.detail
    assert f"CUDA {cuda}" in found.detail
    assert bool(found.remedy) is (ok is False)


def test_a_toolkit_of_another_cuda_is_named_and_is_no_failure(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.version.cuda", "13.0")
    host.program("nvcc", "Cuda compilation tools, release 12.8, V12.8.93")
    (found,) = toolkit()
    assert found.ok is None
    assert "CUDA 12.8, and torch is built for CUDA 13.0" in found.detail


def test_gpus_that_are_hidden_or_too_few_are_told_apart(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert accelerator(needs_gpu=True)[0].remedy == "CUDA_VISIBLE_DEVICES= hides them: unset it"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    found = room_for(compose([*GPU, *NAMED, "++ray_kwargs.ray_init.num_cpus=34"]))
    assert [(check.name, check.ok) for check in found] == [("gpus", False), ("ray cpus", True)]
    assert found[0].detail == "the run wants 8 on a node, and torch sees 4"
    assert found[0].remedy == "set trainer.n_gpus_per_node=4"


def test_a_host_without_flash_attn_is_told_what_that_costs_and_is_sound() -> None:
    (found,) = flash_attention()
    assert found.ok is None
    assert "use_remove_padding=false" in found.detail
    assert "FLASH_ATTN_WHEEL" in found.detail


def test_on_a_cluster_the_cpus_are_the_cluster_s_own_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    (found,) = room_for(compose([*GPU, *NAMED, "trainer.nnodes=2"]))
    # 3 x 8 for the GPUs, 4 of 8 storage units, the queue, and an actor's start.
    assert (found.ok, found.detail.split(",")[0]) == (None, "30 for 8 GPUs a node")
