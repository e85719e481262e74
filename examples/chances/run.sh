#!/usr/bin/env bash
# "A bag: 3 red and 1 blue marble. Pick one." A pretrained language model of 135 million parameters, trained to answer red
# three times in four, and at each other prompt as often as its odds say; evaluated on other counts and colours, and on
# coins, dice and weather forecasts, which it was not trained on.
# Hardware: 2 CPU cores, 16 GB of memory, 6 GB of disk; no GPU. Time: installation, then about two hours, 100 minutes of
# it training; with PROFILE=tiny, on a miniature model that is built here, a quarter of an hour (estimated).
# Result: outputs/chances/before_and_after.png, and the table that it prints. Arguments are overrides, as of madrl run.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../recipes/lib/help.sh" "$0" run.py "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export OUT=${OUT:-outputs} NAME=${NAME:-chances} PROFILE=${PROFILE:-small} STACK=cpu
. recipes/lib/install.sh
example=examples/chances
python $example/prepare.py
if [ "$PROFILE" = small ]; then
  # Adapters leave the embeddings alone, whose rows would learn something of each trained word, where numbers are to be
  # read; they and bfloat16 make a step a third shorter.
  set -- actor_rollout_ref.model.{lora_rank=32,lora_alpha=64,lora.merge=true} \
    actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bf16 "$@"
fi
madrl run $example/task.yaml uniform rkl "$@"
madrl holdout --initial "$OUT/$NAME"
python $example/figure.py "$OUT/$NAME"
