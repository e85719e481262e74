#!/bin/bash
# In place of madrl run: three steps, each written down, and after a kill it goes on where it was.
#   HOLD     a file: as long as it exists the recipe makes no second step
#   BREAK    a file: as long as it exists the recipe fails at its first step, with the file's content as last words
#   ALONE=1  fails when another cell runs at the same time
run=$OUT/$NAME
mkdir -p "$run"
echo "start $TASK ${MODEL:-} $*" >>"$run/trace"
if [ -n "${ALONE:-}" ]; then
  mkdir "$OUT/alone" || exit 9
  trap 'rmdir "$OUT/alone"' EXIT
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
