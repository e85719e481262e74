#!/usr/bin/env bash
# GSM8K, Jensen-Shannon reward. Target: a third each of Spanish, Hindi, French.
# 8 x 80 GB GPUs, 1200 steps (an estimated 10 hours) from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect on GPUs, as in the paper: a JSD of 0.0455 nats to the target (over all weights 0.0108, pass@1 0.80). Variables: --help
set -euo pipefail
exec bash "$(dirname "$0")/lib/run.sh" "$0" gsm8k peak jsd "$@"
