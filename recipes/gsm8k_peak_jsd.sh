#!/usr/bin/env bash
# GSM8K, Jensen-Shannon reward.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Target: none on English and Chinese, a third on each of the rest.
# Reward: additive with alpha 0.7, unless FORM and ALPHA say otherwise.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=gsm8k TARGET=peak DIVERGENCE=jsd
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
