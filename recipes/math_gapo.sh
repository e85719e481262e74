#!/usr/bin/env bash
# MATH, the GAPO baseline: uniform L2 with the frequency among the valid responses, -1 for an invalid one, mixed
# with correctness as in the additive form (madrl/reward.py).
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Target: a fifth on each; GAPO has no other. ALPHA, the weight of correctness, is 0.7 unless set.
# On GPUs it starts from the task's warm start, which is made first when it is not there (math_warm_start.sh).
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: bash recipes/math_gapo.sh --help
set -euo pipefail
export FORM=gapo
exec bash "$(dirname "$0")/run.sh" "$0" math uniform l2 "$@"
