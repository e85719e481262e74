#!/usr/bin/env bash
# SYNTHETIC, open set (options to be inferred), Jensen-Shannon reward. Target: a third on each of ranks 3 to 5.
# 8 x 80 GB GPUs, 6000 steps of Qwen3-4B. PROFILE=tiny: 2 CPU cores, 15 minutes.
# Expect on GPUs, as in the paper: a JSD of 0.159 nats in training, 0.414 on new topics. Variables: --help
set -euo pipefail
exec bash "$(dirname "$0")/lib/run.sh" "$0" synthetic_open peak jsd "$@"
