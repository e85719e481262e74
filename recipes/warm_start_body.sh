#!/usr/bin/env bash
# The body of every warm start: install, prepare the data, make the base model (tiny profile), then madrl warm-start:
# ask for every category by name, finetune on what is right without the names, select a checkpoint by coverage. After a
# kill, start the same command again: every stage goes on where it was.
#
#   TASK=gsm8k bash recipes/warm_start_body.sh [hydra overrides]
#
# PROFILE=gpu|tiny   8 x 80 GB GPUs with Qwen3-4B, or two CPU cores with a base model built here (a miniature)
# SEED=42            sampling, and the order of the finetuning's data
# DATASET=PATH       local files of the dataset, in place of the Hugging Face hub
# MODEL=PATH         the base model, in place of the profile's
# SANDBOX_URL=URLS   judge programs there, in place of a sandbox that is started and stopped with the recipe
# DRY_RUN=1          only print the resolved config, veRL's SFT config in it, checked against the installed veRL
# NAME, OUT          the warm start goes to $OUT/$NAME, its model to $OUT/$NAME/model; data and base model to $OUT/data,
#                    $OUT/models
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${TASK:?name the task: gsm8k, math or code_contests}"
PROFILE=${PROFILE:-gpu}
SEED=${SEED:-42}
NAME=${NAME:-${TASK}_warm_start_${PROFILE}_seed${SEED}}
OUT=${OUT:-outputs}
case $OUT in /*) ;; *) OUT=$PWD/$OUT ;; esac
RUN=$OUT/$NAME
# Every seed starts from the same data and base model, so neither has SEED in its name.
if [ "$PROFILE" = tiny ]; then DATA=$OUT/data/${TASK}_miniature; else DATA=$OUT/data/$TASK; fi
BASE=$OUT/models/${TASK}_base

# The tiny profile runs on CPU cores wherever it is.
if [ "$PROFILE" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"

overrides=(task="$TASK" profile="$PROFILE" seed="$SEED" paths.run="'$RUN'" paths.data="'$DATA'")
if [ "$PROFILE" = tiny ]; then MODEL=${MODEL:-$BASE/model}; fi
if [ -n "${MODEL:-}" ]; then overrides+=(paths.model="'$MODEL'"); fi
overrides+=("$@")

if [ -n "${DRY_RUN:-}" ]; then
  madrl warm-start --dry-run "${overrides[@]}"
  exit 0
fi

mkdir -p "$RUN"
. recipes/stages.sh
if [ "$PROFILE" = tiny ]; then
  echo "PROFILE=tiny: a miniature stand-in for $TASK, on problems and with a model made here; not the benchmark"
fi
prepare_data
if [ "$PROFILE" = tiny ] && [ "$MODEL" = "$BASE/model" ]; then
  stage base "a miniature base model, which answers in one category unless asked otherwise, to $BASE" \
    in_turn "$BASE" madrl miniature --base --task "$TASK" --data "$DATA" -o "$BASE"
fi
if [ "$TASK" = code_contests ]; then start_sandbox; fi
stage warm_start "sampling by category, finetuning, selection by coverage, to $RUN" madrl warm-start "${overrides[@]}"
