#!/usr/bin/env bash
# CodeContests, correctness alone (RLVR): the control. Its drift is measured against the uniform target.
# 8 x 80 GB GPUs, 1200 steps from the task's warm start; PROFILE=tiny: 2 CPU cores, 20 minutes.
# Expect on GPUs, as in the paper: a JSD of 0.2614 nats to uniform, pass@1 0.38. Variables: --help
set -euo pipefail
export FORM=rlvr
exec bash "$(dirname "$0")/lib/run.sh" "$0" code_contests uniform rkl "$@"
