#!/usr/bin/env bash
# CodeContests, the GAPO baseline: uniform L2 with the frequency among the valid responses, -1 for an invalid one, mixed
# with correctness as in the additive form (madrl/reward.py).
# Category: the programming language of the solution: Python, C++, Java, Go, JavaScript.
# Target: a fifth on each; GAPO has no other. ALPHA, the weight of correctness, is 0.7 unless set.
# On GPUs it starts from the task's warm start, which is made first when it is not there (code_contests_warm_start.sh).
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: bash recipes/code_contests_gapo.sh --help
set -euo pipefail
export FORM=gapo
exec bash "$(dirname "$0")/run.sh" "$0" code_contests uniform l2 "$@"
