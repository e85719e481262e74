#!/usr/bin/env bash
# The sampling temperature baseline: one model's holdout responses at several temperatures, no training.
#   bash recipes/temperature_sweep.sh RUN                  # the last checkpoint of a run, e.g. of gsm8k_rlvr.sh
#   TASK=gsm8k bash recipes/temperature_sweep.sh MODEL     # a model: a folder, or a name on the Hugging Face hub
# Variables: TEMPERATURES="0.6 0.8 1.0 1.2 1.4", SAMPLES=N responses to each problem, OUT=DIR, SANDBOX_URL; of a MODEL
# also TASK, PROFILE, DATA=DIR (madrl/temperature_sweep.py). Time: a run's holdout, for each temperature.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0" && exit ;; esac
source=${1:?name a run folder or a model}
if [ -e "$source" ]; then source=$(realpath "$source"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "${PROFILE:-}" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"
exec madrl temperature-sweep "$source"
