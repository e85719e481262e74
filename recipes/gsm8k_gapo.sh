#!/usr/bin/env bash
# GSM8K, the GAPO baseline: uniform L2 with the frequency among the valid responses, -1 for an invalid one, mixed
# with correctness as in the additive form (madrl/reward.py).
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Target: a fifth on each; GAPO has no other. ALPHA, the weight of correctness, is 0.7 unless set.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=gsm8k TARGET=uniform DIVERGENCE=l2 FORM=gapo
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
