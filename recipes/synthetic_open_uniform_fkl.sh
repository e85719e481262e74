#!/usr/bin/env bash
# SYNTHETIC, open set (the five options are not listed: the model has to infer them), forward KL reward.
# Target: a fifth of the answers on each alphabetical rank.
# PROFILE=gpu: 8 x 80 GB GPUs, Qwen3-4B, 6000 steps of 16 prompts x 32 responses. PROFILE=tiny: 2 CPU cores, 15 minutes.
# Variables, overrides and outputs: recipes/body.sh
set -euo pipefail
export TASK=synthetic_open TARGET=uniform DIVERGENCE=fkl
exec bash "$(dirname "${BASH_SOURCE[0]}")/body.sh" "$@"
