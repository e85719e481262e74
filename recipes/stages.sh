# Sourced by the bodies of the recipes. Needs TASK, PROFILE, DATA, RUN, and DATASET, SANDBOX_URL where they are set.

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

# in_turn PATH COMMAND...: COMMAND, which makes PATH, while no other recipe here makes it. The lock lives as long as any
# process of COMMAND.
in_turn() {
  local made=$1
  shift
  mkdir -p "$(dirname "$made")"
  flock "$made.lock" "$@"
}

# A sandbox for this run alone, unless SANDBOX_URL names one; it ends with this script.
start_sandbox() {
  if [ -n "${SANDBOX_URL:-}" ]; then export MADRL_SANDBOX_URLS=$SANDBOX_URL; fi
  if [ -n "${MADRL_SANDBOX_URLS:-}" ]; then return; fi
  if [ -n "${RAY_ADDRESS:-}" ]; then
    echo "recipes: other nodes cannot reach a sandbox of ours: start some, and name them in SANDBOX_URL=" >&2
    exit 1
  fi
  stage sandbox "the judge of programs; log: $RUN/sandbox.log" . recipes/sandbox.sh
}

# The task's parquet files in DATA: made here in the tiny profile, else from the dataset.
prepare_data() {
  local script=$TASK
  case $PROFILE:$TASK in
    *:synthetic_*) stage data "$TASK: topics and prompts to $DATA" \
      in_turn "$DATA" python data_prep/synthetic.py --local_save_dir "$DATA" --form "${TASK#synthetic_}" ;;
    tiny:*) stage data "problems in the rows and files of $TASK to $DATA" \
      in_turn "$DATA" python data_prep/miniature.py --task "$TASK" --local_save_dir "$DATA" ;;
    *)
      if [ "$TASK" = math ]; then script=hendrycks_math; fi
      if [ ! -f "$DATA/manifest.json" ]; then
        if [ "$TASK" = code_contests ]; then start_sandbox; fi
        stage data "$TASK: problems to $DATA" python "data_prep/$script.py" --local_save_dir "$DATA" \
          ${DATASET:+--local_dataset_path "$DATASET"}
      fi ;;
  esac
}
