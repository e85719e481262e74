#!/usr/bin/env bash
# MATH, correctness alone with ENTROPY times the policy's entropy as a bonus in the loss.
# 8 x 80 GB GPUs, 1200 steps (an estimated 30 hours) from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect less drift than RLVR's, towards no mix of your choice. Sweep ENTROPY=0.001|0.003|0.01|0.03. Variables: --help
set -euo pipefail
export FORM=rlvr ENTROPY=${ENTROPY:-0.01}
exec bash "$(dirname "$0")/lib/run.sh" "$0" math uniform rkl "$@"
