#!/usr/bin/env bash
# The sceptic's table: what one would try in place of a distribution reward (naming the category in the prompt, verbalized
# sampling, finetuning on the mix, temperature, RLVR, entropy, GAPO), measured alike and beside it.
#   PROFILE=tiny bash recipes/alternatives.sh gsm8k peak [KEY=VALUE ...]     the target is uniform unless it is named
# Time: about an hour on two cores with PROFILE=tiny; on 8 GPUs six trainings and a warm start.
# Result: outputs/TASK_alternatives_TARGET_PROFILE_seed42/table.md, alternatives.png, and report/index.html
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/help.sh" "$0" alternatives.py "$@"
case " ${PROFILE:+profile=$PROFILE} $* " in *' profile=tiny '* | *' profile=small '*) STACK=cpu ;; esac
. "$(dirname "${BASH_SOURCE[0]}")/lib/install.sh"
exec madrl alternatives "$@"
