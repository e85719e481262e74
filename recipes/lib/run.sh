#!/usr/bin/env bash
# What every recipe calls: install what it needs, then `madrl run`, whose variables madrl/run.py explains.
#   bash recipes/lib/run.sh RECIPE TASK TARGET DIVERGENCE [KEY=VALUE ...]     RECIPE: the calling script, for its --help
set -euo pipefail
case ${1:-} in -h | --help) set -- "$0" --help ;; esac
recipe=$(realpath "$1")
shift
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$lib/help.sh" "$recipe" run.py "$@"
# These profiles run on CPU cores wherever they are.
case " ${PROFILE:+profile=$PROFILE} $* " in *' profile=tiny '* | *' profile=small '*) STACK=cpu ;; esac
. "$lib/install.sh"
exec madrl run "$@"
