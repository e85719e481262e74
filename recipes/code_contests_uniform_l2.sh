#!/usr/bin/env bash
# CodeContests, L2 reward.
# Category: the programming language of the solution: Python, C++, Java, Go, JavaScript.
# Target: a fifth on each.
# Reward: additive with alpha 0.7, unless FORM and ALPHA say otherwise.
# On GPUs it starts from the task's warm start, which is made first when it is not there (code_contests_warm_start.sh).
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: bash recipes/code_contests_uniform_l2.sh --help
set -euo pipefail
exec bash "$(dirname "$0")/run.sh" "$0" code_contests uniform l2 "$@"
