#!/usr/bin/env bash
# SYNTHETIC, open set (the five options are not listed: the model has to infer them), reverse KL reward.
# Target: a fifth of the answers on each alphabetical rank.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 6000 steps of 16 prompts x 32 responses. PROFILE=tiny: 2 CPU cores, 15 minutes.
# Variables, overrides and outputs: bash recipes/synthetic_open_uniform_rkl.sh --help
set -euo pipefail
exec bash "$(dirname "$0")/run.sh" "$0" synthetic_open uniform rkl "$@"
