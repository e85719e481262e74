#!/usr/bin/env bash
# CodeContests, reverse KL reward.
# Category: the programming language of the solution: Python, C++, Java, Go, JavaScript.
# Target: a fifth on each.
# Reward: additive with alpha 0.7, unless FORM and ALPHA say otherwise.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=code_contests TARGET=uniform DIVERGENCE=rkl
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
