#!/usr/bin/env bash
# MATH, Jensen-Shannon reward. Target: a third each of Spanish, Hindi, French.
# 8 x 80 GB GPUs, 1200 steps (an estimated 30 hours) from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect on GPUs, as in the paper: a JSD of 0.0105 nats to the target (over all weights 0.0136, pass@1 0.40). Variables: --help
set -euo pipefail
exec bash "$(dirname "$0")/lib/run.sh" "$0" math peak jsd "$@"
