#!/usr/bin/env bash
# CodeContests: a warm start that makes every category reachable, the initial checkpoint of all its runs.
# Category: the programming language of the solution: Python, C++, Java, Go, JavaScript.
# Rejection sampling from the base model, asked for each category by name; finetuning on prompts that name none; the
# checkpoint that covers the categories best. Then: MODEL=outputs/NAME/model bash recipes/code_contests_peak_rkl.sh
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1000 responses of each category. PROFILE=tiny: 2 CPU cores, 15 minutes, a
# miniature of the task. Variables, overrides and outputs: recipes/warm_start_body.sh
set -euo pipefail
export TASK=code_contests
exec bash "$(dirname "${BASH_SOURCE[0]}")/warm_start_body.sh" "$@"
