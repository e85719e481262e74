#!/usr/bin/env bash
# CodeContests, the entropy bonus baseline: correctness alone (RLVR), and ENTROPY times the mean entropy of the policy's
# next token, in nats, as a bonus in the loss. It can spread the mix, but has no word for which mix.
# Category: the programming language of the solution: Python, C++, Java, Go, JavaScript.
# Fit is measured against the uniform target. The paper gives no coefficient: sweep it, ENTROPY=0.001|0.003|0.01|0.03.
# On GPUs it starts from the task's warm start, which is made first when it is not there (code_contests_warm_start.sh).
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1200 steps of 32 prompts x 16 responses. PROFILE=tiny: 2 CPU cores,
# 20 minutes, a miniature of the task. Variables, overrides and outputs: bash recipes/code_contests_entropy.sh --help
set -euo pipefail
export FORM=rlvr ENTROPY=${ENTROPY:-0.01}
exec bash "$(dirname "$0")/run.sh" "$0" code_contests uniform rkl "$@"
