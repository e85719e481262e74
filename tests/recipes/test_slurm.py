"""lib/slurm.sbatch, with a stand-in for srun that runs every step on this machine."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from madrl.process import COMMON_ENVIRONMENT

ROOT = Path(__file__).parents[2]
LIMIT_S = 600

SRUN = """
echo $(printf '%q ' "$@") >>"$SRUN_CALLS"
while [[ $1 == -* ]]; do
  if [ "$1" = -w ]; then shift; fi
  shift
done
exec "$@"
"""
RAY = f"""
case $2 in --head) set -- "$@" --include-dashboard=false --temp-dir="$RAY_FOLDER" ;; esac
exec {sys.executable} -m ray.scripts.scripts "$@" --node-ip-address=127.0.0.1 --num-cpus=1 \
  --object-store-memory=80000000 --disable-usage-stats
"""
PYTHON = f'exec {sys.executable} "$@"'
RECIPE = """
python -c 'import os; from madrl.trainer.cluster import check_alone; check_alone(os.environ["RAY_ADDRESS"])'
echo "the recipe runs on $NNODES nodes"
"""


class Job:
    """What sbatch would start: the script in an allocation of two nodes, after a local Ray has left its token."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "venv" / "bin"
        self.bin.mkdir(parents=True)
        shutil.copy(ROOT / "pyproject.toml", folder / "venv" / ".madrl-pyproject.toml")
        token = folder / "home" / ".ray" / "auth_token"
        token.parent.mkdir(parents=True)
        token.write_text("a" * 64)
        self.script("srun", SRUN)
        self.script("scontrol", "printf '127.0.0.1\\nother\\n'")
        self.script("madrl", "true")
        self.script("python", PYTHON)
        self.recipe = self.script("recipe", RECIPE)

    def script(self, name: str, text: str) -> Path:
        """An executable in the job's environment."""
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return path

    def run(self, **variables: str) -> "subprocess.CompletedProcess[str]":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        variables |= {"VENV": str(self.bin.parent), "HOME": str(self.folder / "home"), "RAY_PORT": str(port)}
        variables |= {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NNODES": "2", "PYTHONPATH": str(ROOT)}
        # Ray's sockets have short names only.
        ray_folder = Path("/tmp") / f"madrl-slurm-{os.getpid()}"
        variables |= {"RAY_FOLDER": str(ray_folder), "SRUN_CALLS": str(self.folder / "srun_calls")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        command = ["bash", "recipes/lib/slurm.sbatch", str(self.recipe)]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=kept | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, errors = process.communicate(timeout=LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            shutil.rmtree(ray_folder, ignore_errors=True)
        return subprocess.CompletedProcess(command, process.returncode, out, errors)


@pytest.mark.slow
def test_the_nodes_of_a_job_form_a_cluster_although_a_local_ray_has_left_a_token(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.script("ray", RAY)
    done = job.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the recipe runs on 2 nodes\n")


def test_nodes_that_do_not_join_end_the_job_after_a_while(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.script("ray", "exec sleep 1000")
    job.script("python", "echo 1")
    done = job.run(CLUSTER_WAIT_S="1")
    assert done.returncode == 1
    assert "after 1 s (CLUSTER_WAIT_S) the Ray cluster at 127.0.0.1:" in done.stderr
    assert "has 1 nodes of 2" in done.stderr


def test_a_head_that_ends_ends_the_job(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.script("ray", "echo no such port >&2; exit 1")
    job.script("python", "case $2 in *secrets*) echo token ;; *) exit 1 ;; esac")
    done = job.run()
    assert done.returncode == 1
    assert "no such port" in done.stderr
    assert "'ray start' has ended on a node: the reason is above" in done.stderr


def test_a_job_has_a_token_of_its_own_which_every_step_gets(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.script("ray", f'echo "$RAY_AUTH_MODE $RAY_AUTH_TOKEN" >>{tmp_path}/tokens; exec sleep 1000')
    job.script("python", f'case $2 in *secrets*) exec {sys.executable} "$@" ;; esac; wc -l <{tmp_path}/tokens')
    job.script("recipe", f'echo "$RAY_AUTH_MODE $RAY_AUTH_TOKEN" >>{tmp_path}/tokens')
    found: list[str] = []
    for _ in range(2):
        done = job.run()
        assert done.returncode == 0, done.stderr
        lines = (tmp_path / "tokens").read_text().splitlines()
        assert len(lines) == 3
        found += set(lines)
        (tmp_path / "tokens").unlink()
    assert len(set(found)) == 2, "one for each job"
    assert [len(line.removeprefix("token ")) for line in found] == [64, 64]


def test_ray_gets_the_time_to_start_that_a_run_s_own_ray_has(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.script("ray", f"env | grep ^RAY_ >>{tmp_path}/seen; echo one >>{tmp_path}/nodes; exec sleep 1000")
    job.script("python", f'case $2 in *secrets*) exec {sys.executable} "$@" ;; esac; wc -l <{tmp_path}/nodes')
    job.script("recipe", "true")
    done = job.run()
    assert done.returncode == 0, done.stderr
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    patience = {name: value for name, value in COMMON_ENVIRONMENT.items() if "register_timeout" in name}
    assert len(patience) == 2
    assert seen.items() >= patience.items()


def test_a_job_has_its_nodes_to_itself_and_its_tasks_have_all_of_them(tmp_path: Path) -> None:
    script = (ROOT / "recipes/lib/slurm.sbatch").read_text()
    asked = [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH ")]
    assert {"--exclusive", "--mem=0", "--cpus-per-task=34", "--gpus-per-node=8"} <= set(asked)
    job = Job(tmp_path)
    job.script("ray", f'echo "$*" >>{tmp_path}/nodes; exec sleep 1000')
    job.script("python", f'case $2 in *secrets*) exec {sys.executable} "$@" ;; esac; wc -l <{tmp_path}/nodes')
    job.script("recipe", "true")
    done = job.run(SLURM_JOB_CPUS_PER_NODE="96(x3),64,128")
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "srun_calls").read_text().splitlines()
    assert len(calls) >= 4  # head, another node, at least one look at the cluster, the recipe
    for call in calls:
        assert call.startswith("--export=ALL --cpus-per-task=64 --cpu-bind=none --mem=0 ")


def test_secrets_reach_every_task_in_its_environment_and_are_nowhere_else(tmp_path: Path) -> None:
    job = Job(tmp_path)
    secrets = {"WANDB_API_KEY": "w" * 40, "HF_TOKEN": "hf_" + "t" * 34}
    write = f'echo "$WANDB_API_KEY $HF_TOKEN" >>{tmp_path}/seen'
    job.script("ray", f"{write}; exec sleep 1000")
    job.script("python", f'case $2 in *secrets*) exec {sys.executable} "$@" ;; esac; wc -l <{tmp_path}/seen')
    job.script("recipe", write)
    done = job.run(**secrets)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "seen").read_text().splitlines() == [" ".join(secrets.values())] * 3
    elsewhere = done.stdout + done.stderr + (tmp_path / "srun_calls").read_text()
    assert not [name for name, secret in secrets.items() if secret in elsewhere]


def test_a_node_whose_first_try_to_join_fails_tries_again(tmp_path: Path) -> None:
    job = Job(tmp_path)
    joins = f"""
case $2 in --head) exec sleep 1000 ;; esac
echo "$*" >>{tmp_path}/tries
[ "$(wc -l <{tmp_path}/tries)" -ge 3 ] || {{ echo 'cannot reach the head' >&2; exit 1; }}
touch {tmp_path}/joined
exec sleep 1000
"""
    job.script("ray", joins)
    job.script("sleep", f'[ "$1" = 1000 ] && exec {shutil.which("sleep")} "$1" || exec {shutil.which("sleep")} 0.1')
    nodes = f"[ -e {tmp_path}/joined ] && echo 2 || echo 1"
    job.script("python", f'case $2 in *secrets*) exec {sys.executable} "$@" ;; esac; {nodes}')
    job.script("recipe", 'echo "on $NNODES nodes"')
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "on 2 nodes\n"
    assert done.stderr.count("cannot reach the head") == done.stderr.count("which tries to join again") == 2


def test_the_script_is_clean_to_shellcheck() -> None:
    done = subprocess.run(["shellcheck", "recipes/lib/slurm.sbatch"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
