#!/usr/bin/env bash
# MATH: the warm start of its recipes, a model with every language within reach.
# 8 x 80 GB GPUs, Qwen3-4B, 1000 responses of each category. PROFILE=tiny: 2 CPU cores, 10 minutes.
# Expect on GPUs, as in the paper: JSD 0.0029 nats to uniform, pass@1 0.35; outputs/NAME/model. Variables: --help
set -euo pipefail
exec bash "$(dirname "$0")/lib/run.sh" "$0" math warm_start "$@"
