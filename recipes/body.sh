#!/usr/bin/env bash
# The body of every recipe: install, prepare the data, make the initial model (tiny profile), train, sample the
# holdout, evaluate. After a kill, start the same command again: the model and the training go on where they were.
#
#   TASK=synthetic_closed TARGET=peak DIVERGENCE=rkl bash recipes/body.sh [hydra overrides]
#
# PROFILE=gpu|tiny   8 x 80 GB GPUs with Qwen3-4B, or two CPU cores with a model built here (a miniature)
# SEED=42            order of the training data, sampling
# DRY_RUN=1          only print the resolved config, every key checked against the installed veRL
# WANDB=1            log to Weights & Biases as well
# NAME, OUT          the run goes to $OUT/$NAME; data and tiny models to $OUT/data, $OUT/models
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${TASK:?name the task, e.g. TASK=synthetic_closed}"
: "${TARGET:?name the target, e.g. TARGET=peak}"
: "${DIVERGENCE:?name the divergence: l2, fkl, rkl or jsd}"
PROFILE=${PROFILE:-gpu}
SEED=${SEED:-42}
NAME=${NAME:-${TASK}_${TARGET}_${DIVERGENCE}_${PROFILE}_seed${SEED}}
OUT=${OUT:-outputs}
case $OUT in /*) ;; *) OUT=$PWD/$OUT ;; esac
# Every seed of a task trains on the same splits and from the same initial model, so neither has SEED in its name.
RUN=$OUT/$NAME
DATA=$OUT/data/$TASK
MODEL=$OUT/models/$TASK

# The tiny profile runs on CPU cores wherever it is.
if [ "$PROFILE" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"

overrides=(task="$TASK" profile="$PROFILE" madrl.target="$TARGET" madrl.reward.divergence="$DIVERGENCE" seed="$SEED"
  paths.run="'$RUN'" paths.data="'$DATA'" trainer.experiment_name="$NAME")
if [ "$PROFILE" = tiny ]; then
  # A miniature knows nothing but the topics it was finetuned on, so it is evaluated on those, before and after.
  overrides+=(paths.model="'$MODEL/model'" "data.val_files='$DATA/train_probe.parquet'")
fi
if [ -n "${WANDB:-}" ]; then overrides+=('trainer.logger=[console,tensorboard,file,wandb]'); fi
overrides+=("$@")

if [ -n "${DRY_RUN:-}" ]; then exec madrl train --dry-run "${overrides[@]}"; fi

mkdir -p "$RUN"
# stage NAME DESCRIPTION COMMAND...: one line when it starts, one with its time when it ends.
stage() {
  local name=$1 description=$2 started ended
  shift 2
  echo "[$name] $description"
  started=$(date +%s.%N)
  "$@"
  ended=$(date +%s.%N)
  awk -v n="$name" -v a="$started" -v b="$ended" -v file="$RUN/stages.jsonl" 'BEGIN {
    printf "[%s] done in %.0f s\n", n, b - a
    printf "{\"stage\": \"%s\", \"seconds\": %.1f}\n", n, b - a >> file
  }'
}

case $TASK in
  synthetic_*) stage data "$TASK: topics and prompts to $DATA" \
    python data_prep/synthetic.py --local_save_dir "$DATA" --form "${TASK#synthetic_}" ;;
  *) echo "recipes/body.sh: unknown TASK=$TASK" >&2; exit 1 ;;
esac
if [ "$PROFILE" = tiny ]; then
  stage warm_start "a miniature model, finetuned by veRL to answer validly with a skewed mix, to $MODEL" \
    madrl warm-start --data "$DATA" -o "$MODEL"
fi
stage train "GRPO towards target $TARGET with the $DIVERGENCE reward, to $RUN" madrl train "${overrides[@]}"
if [ "$PROFILE" != tiny ]; then
  stage holdout "sampling the holdout topics with the last checkpoint" madrl holdout "$RUN"
fi
stage evaluate "scores, figure and summary" madrl evaluate "$RUN"
