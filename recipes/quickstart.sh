#!/usr/bin/env bash
# MaD-RL on a laptop: the SYNTHETIC choice task towards the peaked target (nothing on the first two ranks,
# a third on each of the rest), with the real veRL trainer, FSDP2, vLLM and Ray, and a model small enough for two cores.
# Hardware: 2 CPU cores, 8 GB of memory, 5 GB of disk; no GPU. Time: installation, then at most 15 minutes.
# Expect: the JSD to the target falls from 0.36 nats to about 0.01, off-support answers stay below 5 %.
# Result: outputs/quickstart/summary.json and outputs/quickstart/training.png
set -euo pipefail
export PROFILE=tiny NAME=${NAME:-quickstart}
exec bash "$(dirname "$0")/lib/run.sh" "$0" synthetic_closed peak "${DIVERGENCE:-rkl}" "$@"
