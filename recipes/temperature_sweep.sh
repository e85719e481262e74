#!/usr/bin/env bash
# The sampling temperature baseline: no training, only one model's holdout responses at several temperatures. A higher
# one spreads the mix over everything, at the price of correctness; it cannot ask for a mix.
#
#   bash recipes/temperature_sweep.sh RUN                  # the last checkpoint of a run, e.g. of gsm8k_rlvr.sh
#   TASK=gsm8k bash recipes/temperature_sweep.sh MODEL     # a model: a folder, or a name on the Hugging Face hub
#
# TEMPERATURES="0.6 0.8 1.0 1.2 1.4"   1.0 is the temperature of training and of every other table
# SAMPLES=N                            responses to each problem; unset: as many as a run's holdout takes
# OUT=DIR                              gets temperature_T.jsonl and temperature_T.metrics.json for each T; unset:
#                                      RUN/temperatures, or outputs/temperatures/TASK
# PROFILE=gpu|tiny, DATA=DIR           of a MODEL: the sizes, and where data_prep wrote the task (a run has its own)
# SANDBOX_URL=URLS                     judges programs; unset: a sandbox is started and stopped with this script
# Killed at any time, the same command goes on where it was. Time: a run's holdout, for each temperature.
set -euo pipefail
SOURCE=${1:?name a run folder or a model}
if [ -e "$SOURCE" ]; then SOURCE=$(realpath "$SOURCE"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TEMPERATURES=${TEMPERATURES:-0.6 0.8 1.0 1.2 1.4}
PROFILE=${PROFILE:-gpu}
if [ "$PROFILE" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"

if [ -f "$SOURCE/config.yaml" ]; then
  RUN=${OUT:-$SOURCE/temperatures}
  config=$SOURCE/config.yaml
  model=$(python -m madrl.generation.trained_model "$SOURCE")
else
  : "${TASK:?$SOURCE is no run folder, and a model needs TASK=gsm8k, math, code_contests or synthetic_closed, _open}"
  RUN=${OUT:-outputs/temperatures/$TASK}
  case $PROFILE:$TASK in
    tiny:synthetic_* | gpu:*) DATA=${DATA:-outputs/data/$TASK} ;;
    *) DATA=${DATA:-outputs/data/${TASK}_miniature} ;;
  esac
  # Not config.yaml, which would make a run of the folder.
  config=$RUN/settings.yaml
  model=$SOURCE
  mkdir -p "$RUN"
  madrl train --dry-run task="$TASK" profile="$PROFILE" paths.data="'$DATA'" paths.model="'$model'" \
    trainer.experiment_name=temperature_sweep >"$config"
fi
mkdir -p "$RUN"
. recipes/stages.sh

# setting KEY: one value of the config, mappings as JSON.
setting() {
  python -c 'import json, sys; from omegaconf import OmegaConf as O
value = O.select(O.load(sys.argv[1]), sys.argv[2])
value = O.to_container(value) if O.is_config(value) else value
print(",".join(value) if isinstance(value, list) else json.dumps(value) if isinstance(value, dict) else value)' \
    "$config" "$1"
}
categories=$(setting madrl.categories)
target=$(setting madrl.target)
verifier=$(setting madrl.verifier)
if [ "$verifier" = code ]; then start_sandbox; fi

for temperature in $TEMPERATURES; do
  responses=$RUN/temperature_$temperature.jsonl
  echo "[temperature $temperature] $model, to $responses"
  madrl generate --model "$model" --data "$(setting paths.data)/holdout.parquet" -o "$responses" \
    --classifier "$(setting madrl.classifier)" --verifier "$verifier" --categories "$categories" \
    --samples "${SAMPLES:-$(setting actor_rollout_ref.rollout.val_kwargs.n)}" --temperature "$temperature" \
    --max-response-tokens "$(setting data.max_response_length)" --seed "$(setting seed)" \
    --chat-template "$(setting data.apply_chat_template_kwargs)" \
    --tensor-parallel-size "$(setting actor_rollout_ref.rollout.tensor_model_parallel_size)"
  madrl evaluate "$responses" --categories "$categories" --target "$target"
done
