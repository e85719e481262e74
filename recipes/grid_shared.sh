#!/usr/bin/env bash
# What all cells of a task share, made before the first of them starts; called by `madrl grid run`. TASK and PROFILE as
# in recipes/body.sh; DATA is where the data go, MINIATURE where the miniature model goes (empty: none is needed), RUN
# gets the stages' times and logs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$PROFILE" = tiny ]; then STACK=cpu; fi
. recipes/environment.sh
bash recipes/install.sh
PATH="$VENV/bin:$PATH"
mkdir -p "$RUN"
. recipes/stages.sh
prepare_data
if [ -n "$MINIATURE" ]; then
  stage miniature "the model that the cells of $TASK start from, to $MINIATURE" \
    in_turn "$MINIATURE" madrl miniature --task "$TASK" --data "$DATA" -o "$MINIATURE"
fi
