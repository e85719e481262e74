#!/usr/bin/env bash
# GSM8K, the GAPO baseline (madrl/reward.py), towards the uniform target, the only one that it has.
# 8 x 80 GB GPUs, 1200 steps (an estimated 10 hours) from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect a JSD to uniform like the uniform recipes'; the paper has no number. Variables: --help
set -euo pipefail
export FORM=gapo
exec bash "$(dirname "$0")/lib/run.sh" "$0" gsm8k uniform l2 "$@"
