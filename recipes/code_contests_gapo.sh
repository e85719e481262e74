#!/usr/bin/env bash
# CodeContests, the GAPO baseline (madrl/reward.py), towards the uniform target, the only one that it has.
# 8 x 80 GB GPUs, 1200 steps from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect a JSD to uniform like the uniform recipes'; the paper has no number. Variables: --help
set -euo pipefail
export FORM=gapo
exec bash "$(dirname "$0")/lib/run.sh" "$0" code_contests uniform l2 "$@"
