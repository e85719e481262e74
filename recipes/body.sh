#!/usr/bin/env bash
# The body of every recipe: install, prepare the data, make the initial model (tiny profile), train, sample the
# holdout, evaluate. After a kill, start the same command again: the model and the training go on where they were.
#
#   TASK=gsm8k TARGET=peak DIVERGENCE=rkl bash recipes/body.sh [hydra overrides]
#
# PROFILE=gpu|tiny   8 x 80 GB GPUs with Qwen3-4B, or two CPU cores with a model built here (a miniature)
# SEED=42            order of the training data, sampling; the paper's are 42, 123 and 200
# FORM=additive|gated|rlvr|gapo, ALPHA=0.9|0.8|0.7|0.55, LAMBDA_G=1   the reward's form; each unset: the task's own
# ENTROPY=0.01       weight of a bonus on the policy's entropy in the loss; unset: none
# DATASET=PATH       local files of the dataset, in place of the Hugging Face hub
# MODEL=PATH         the model to start from, in place of the profile's
# SANDBOX_URL=URLS   judge programs there, in place of a sandbox that is started and stopped with the recipe
# RAY_ADDRESS=ADDR NNODES=N   run on a Ray cluster that runs already
# DRY_RUN=1          only print the resolved config, every key checked against the installed veRL; with DATASET also
#                    prepare the data and score some of its rows with the run's reward manager
# WANDB=1            log to Weights & Biases as well
# NAME, OUT          the run goes to $OUT/$NAME; data and tiny models to $OUT/data, $OUT/models
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${TASK:?name the task, e.g. TASK=synthetic_closed}"
: "${TARGET:?name the target, e.g. TARGET=peak}"
: "${DIVERGENCE:?name the divergence: l2, fkl, rkl or jsd}"
PROFILE=${PROFILE:-gpu}
SEED=${SEED:-42}
FORM=${FORM:-}
# An rlvr run has no divergence; one that leaves the task's form or weights alone needs no word for them in its name.
cell=${TASK}_${TARGET}_${DIVERGENCE}${FORM:+_$FORM}${ALPHA:+_alpha$ALPHA}${LAMBDA_G:+_lambda$LAMBDA_G}
if [ "$FORM" = rlvr ]; then cell=${TASK}_rlvr; fi
if [ "$FORM" = gapo ]; then cell=${TASK}_gapo${ALPHA:+_alpha$ALPHA}; fi
if [ -n "${ENTROPY:-}" ]; then cell=${cell%_rlvr}_entropy$ENTROPY; fi
NAME=${NAME:-${cell}_${PROFILE}_seed${SEED}}
OUT=${OUT:-outputs}
case $OUT in /*) ;; *) OUT=$PWD/$OUT ;; esac
RUN=$OUT/$NAME
# Every seed of a task trains on the same splits and from the same initial model, so neither has SEED in its name.
case $PROFILE:$TASK in
  tiny:synthetic_* | gpu:*) DATA=$OUT/data/$TASK ;;
  *) DATA=$OUT/data/${TASK}_miniature ;;
esac
MINIATURE=$OUT/models/$TASK

# The tiny profile runs on CPU cores wherever it is.
if [ "$PROFILE" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"

overrides=(task="$TASK" profile="$PROFILE" madrl.target="$TARGET" madrl.reward.divergence="$DIVERGENCE" seed="$SEED"
  paths.run="'$RUN'" paths.data="'$DATA'" trainer.experiment_name="$NAME")
if [ -n "$FORM" ]; then overrides+=(madrl.reward.form="$FORM"); fi
if [ -n "${ALPHA:-}" ]; then overrides+=(madrl.reward.alpha="$ALPHA"); fi
if [ -n "${LAMBDA_G:-}" ]; then overrides+=(madrl.reward.lambda_g="$LAMBDA_G"); fi
if [ -n "${ENTROPY:-}" ]; then
  overrides+=(actor_rollout_ref.actor.entropy_coeff="$ENTROPY")
  # Its gradient holds three more tensors as large as the logits: half as many tokens at once.
  if [ "$PROFILE" = gpu ]; then overrides+=(actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192); fi
fi
if [ "$PROFILE" = tiny ]; then overrides+=(paths.model="'${MODEL:-$MINIATURE/model}'"); fi
if [ "$PROFILE" != tiny ] && [ -n "${MODEL:-}" ]; then overrides+=(paths.model="'$MODEL'"); fi
case $PROFILE:$TASK in
  # This miniature knows nothing but the topics it was finetuned on, so it is evaluated on those, before and after.
  tiny:synthetic_*) overrides+=("data.val_files='$DATA/train_probe.parquet'") ;;
esac
if [ -n "${RAY_ADDRESS:-}" ]; then
  overrides+=("++ray_kwargs.ray_init.address=$RAY_ADDRESS" trainer.nnodes="${NNODES:?RAY_ADDRESS needs NNODES=nodes}")
fi
if [ -n "${WANDB:-}" ]; then overrides+=('trainer.logger=[console,tensorboard,file,wandb]'); fi
overrides+=("$@")

if [ -n "${DRY_RUN:-}" ]; then
  madrl train --dry-run "${overrides[@]}"
  if [ -z "${DATASET:-}" ]; then exit 0; fi
fi

mkdir -p "$RUN"
. recipes/stages.sh
if [ "$PROFILE" = tiny ]; then
  echo "PROFILE=tiny: a miniature stand-in for $TASK, on problems and with a model made here; not the benchmark"
fi
prepare_data
if [ -n "${DRY_RUN:-}" ]; then
  if [ "$TASK" = code_contests ]; then start_sandbox; fi
  stage rehearsal "the rewards of responses written by hand, to rows of $DATA" madrl rehearse "${overrides[@]}"
  exit 0
fi
if [ "$PROFILE" = tiny ] && [ -z "${MODEL:-}" ]; then
  stage miniature "a miniature model, finetuned by veRL to answer validly with a skewed mix, to $MINIATURE" \
    in_turn "$MINIATURE" madrl miniature --task "$TASK" --data "$DATA" -o "$MINIATURE"
fi
if [ "$TASK" = code_contests ]; then start_sandbox; fi
case $FORM in
  rlvr) reward="correctness alone, its fit measured against target $TARGET" ;;
  gapo) reward="GAPO's reward" ;;
  *) reward="the $DIVERGENCE reward, towards target $TARGET" ;;
esac
stage train "GRPO with $reward, to $RUN" madrl train "${overrides[@]}"
case $PROFILE:$TASK in
  tiny:synthetic_*) ;;
  *) stage holdout "sampling the holdout split with the last checkpoint" madrl holdout "$RUN" ;;
esac
stage evaluate "scores, figure and summary" madrl evaluate "$RUN"
