#!/usr/bin/env bash
# GSM8K, correctness alone (RLVR): the control that shows where a run drifts to without a distributional reward.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Fit is measured against the uniform target.
# On GPUs it starts from the task's warm start, which is made first when it is not there (gsm8k_warm_start.sh).
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: bash recipes/gsm8k_rlvr.sh --help
set -euo pipefail
export FORM=rlvr
exec bash "$(dirname "$0")/run.sh" "$0" gsm8k uniform rkl "$@"
