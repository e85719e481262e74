#!/usr/bin/env bash
# MATH, the entropy bonus baseline: correctness alone (RLVR), and ENTROPY times the mean entropy of the policy's
# next token, in nats, as a bonus in the loss. It can spread the mix, but has no word for which mix.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Fit is measured against the uniform target. The paper gives no coefficient: sweep it, ENTROPY=0.001|0.003|0.01|0.03.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=math TARGET=uniform DIVERGENCE=rkl FORM=rlvr ENTROPY=${ENTROPY:-0.01}
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
