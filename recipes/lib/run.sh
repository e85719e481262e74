#!/usr/bin/env bash
# What every recipe calls: install what it needs, then `madrl run`, whose variables madrl/run.py explains.
#   bash recipes/lib/run.sh RECIPE TASK TARGET DIVERGENCE [KEY=VALUE ...]     RECIPE: the calling script, for its --help
set -euo pipefail
case ${1:-} in -h | --help) set -- "$0" --help ;; esac
recipe=$(realpath "$1")
shift
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case " $* " in
  *' --help '* | *' -h '*)
    sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$recipe"
    echo
    python3 -c 'import ast, sys; print(ast.get_docstring(ast.parse(open(sys.argv[1], encoding="utf-8").read())))' \
      "$lib/../../madrl/run.py"
    exit 0
    ;;
esac
# These profiles run on CPU cores wherever they are.
case " ${PROFILE:+profile=$PROFILE} $* " in *' profile=tiny '* | *' profile=small '*) STACK=cpu ;; esac
. "$lib/install.sh"
exec madrl run "$@"
