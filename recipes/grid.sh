#!/usr/bin/env bash
# The paper's grid of 417 runs, or a part of it: `madrl grid` with the environment that recipes install.
#
#   bash recipes/grid.sh plan task=math form=rlvr,add70
#   bash recipes/grid.sh run                  # here, one cell at a time; killed at any moment, the same command goes on
#   bash recipes/grid.sh run --backend slurm  # or ray, skypilot: recipes/README.md
#   bash recipes/grid.sh status --watch       # from another terminal
#   bash recipes/grid.sh retry                # let failed and stale cells run again
#
# Without filters plan declares all 417: 123 on each of GSM8K, MATH and CodeContests, 48 on SYNTHETIC.
# A cell is a recipe: hardware and time are those of madrl/run.py, whose variables DATASET, SANDBOX_URL, WANDB hold here
# as well. `--profile tiny` makes every cell a miniature on two CPU cores, 6 to 20 minutes each.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0" && exit ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"
exec madrl grid "$@"
