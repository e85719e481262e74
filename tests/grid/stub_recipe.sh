#!/bin/bash
# A recipe's only stage, in place of its own: three steps, each written down, and after a kill it goes on where it was.
#   HOLD     a file: as long as it exists the recipe makes no second step
#   BREAK    a file: as long as it exists the recipe fails at its first step, with the file's content as last words
#   ALONE=1  fails when another cell runs at the same time
run=$1
mkdir -p "$run"
echo "start ${*:2}" >>"$run/trace"
if [ -n "${ALONE:-}" ]; then
  mkdir "$run/../alone" || exit 9
  trap 'rmdir "$run/../alone"' EXIT
fi
if [ -n "${BREAK:-}" ] && [ -e "$BREAK" ]; then
  cat "$BREAK"
  exit 3
fi
step=$(grep -c ^step "$run/trace")
while [ "$step" -lt 3 ]; do
  step=$((step + 1))
  echo "step $step" >>"$run/trace"
  sleep 0.05
  while [ -n "${HOLD:-}" ] && [ -e "$HOLD" ]; do sleep 0.05; done
done
echo end >>"$run/trace"
