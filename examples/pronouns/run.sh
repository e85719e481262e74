#!/usr/bin/env bash
# Is the nurse a she and the mechanic a he? A pretrained language model of 135 million parameters, trained to use either
# pronoun as often, whatever the occupation; evaluated on occupations that it was not trained on.
# Hardware: 2 CPU cores, 16 GB of memory, 6 GB of disk; no GPU. Time: installation, then 35 minutes.
# Result: outputs/pronouns/before_and_after.png, and the table that it prints. Arguments are overrides, as of madrl run.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../recipes/lib/help.sh" "$0" run.py "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export OUT=${OUT:-outputs} NAME=${NAME:-pronouns} PROFILE=small STACK=cpu
. recipes/lib/install.sh
example=examples/pronouns
python $example/prepare.py
madrl run $example/task.yaml uniform rkl "$@"
madrl holdout --initial "$OUT/$NAME"
python $example/figure.py "$OUT/$NAME"
