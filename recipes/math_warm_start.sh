#!/usr/bin/env bash
# MATH: a warm start that makes every category reachable, the initial checkpoint of all its runs.
# Category: the natural language of the solution: English, Chinese, Spanish, Hindi, French.
# Rejection sampling from the base model, asked for each category by name; finetuning on prompts that name none; the
# checkpoint that covers the categories best. The task's other recipes call for it when it is not there: this one is for
# making it alone, or with overrides of its own. The model is outputs/NAME/model.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 1000 responses of each category. PROFILE=tiny: 2 CPU cores, 10 minutes, a
# miniature of the task. Variables, overrides and outputs: bash recipes/math_warm_start.sh --help
set -euo pipefail
exec bash "$(dirname "$0")/run.sh" "$0" math warm_start "$@"
