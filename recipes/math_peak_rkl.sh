#!/usr/bin/env bash
# MATH, reverse KL reward.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Target: none on English and Chinese, a third on each of the rest.
# Reward: additive with alpha 0.7, unless FORM and ALPHA say otherwise.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=math TARGET=peak DIVERGENCE=rkl
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
