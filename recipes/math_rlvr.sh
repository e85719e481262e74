#!/usr/bin/env bash
# MATH, correctness alone (RLVR): the control that shows where a run drifts to without a distributional reward.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Fit is measured against the uniform target.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=math TARGET=uniform DIVERGENCE=rkl FORM=rlvr
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
