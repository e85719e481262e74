# Sourced by the other scripts, or called: makes the environment that recipes run in, installs madrl and the packages
# that training needs into it, and puts it first in PATH. Nothing happens when nothing has changed, and an installation
# that was interrupted is finished by the next call.
#   STACK=cpu bash recipes/lib/install.sh    into .venv: 2 to 3 minutes, 4 GB (the default without a GPU)
#   STACK=gpu bash recipes/lib/install.sh    into .venv-gpu: veRL's own vllm stack, and flash-attn from a wheel if
#                                            FLASH_ATTN_WHEEL or FLASH_ATTN_INDEX names one (docs/gpu.md)
# .venv is the checkout's. VENV=DIR installs elsewhere, PYTHON=/path/to/python3.11 uses another interpreter.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -z "${STACK:-}" ]; then
  if nvidia-smi >/dev/null 2>&1; then STACK=gpu; else STACK=cpu; fi
fi
case $STACK in
  cpu) VENV=${VENV:-$checkout/.venv} ;;
  gpu) VENV=${VENV:-$checkout/.venv-gpu} ;;
  *) echo "STACK=$STACK is neither cpu nor gpu" >&2; exit 1 ;;
esac
case $VENV in /*) ;; *) VENV=$PWD/$VENV ;; esac
export STACK VENV PATH="$VENV/bin:$PATH"

# One call at a time installs; the others wait for it. Where nothing can be written nothing can be installed either.
mkdir -p "$(dirname "$VENV")"
lock=
if { : >>"$VENV.lock"; } 2>/dev/null; then
  exec {lock}>>"$VENV.lock"
  flock "$lock"
fi
if ! cmp -s "$checkout/pyproject.toml" "$VENV/.madrl-pyproject.toml"; then
  if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    PYTHON=${PYTHON:-python3}
    if ! "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
      echo "recipes/lib/install.sh: $PYTHON is not Python 3.11 or 3.12: set PYTHON=/path/to/python3.11" >&2
      exit 1
    fi
    if ! "$PYTHON" -m venv --clear "$VENV"; then
      echo "recipes/lib/install.sh: $PYTHON cannot make an environment (on Debian: apt-get install python3-venv)" >&2
      exit 1
    fi
  fi
  if ! python -m pip install --no-deps -e "$checkout" >>"$VENV/install.log" 2>&1; then
    tail -n 20 "$VENV/install.log" >&2
    exit 1
  fi
  cp "$checkout/pyproject.toml" "$VENV/.madrl-pyproject.toml"
fi
madrl install "$STACK" >&2
if [ -n "$lock" ]; then exec {lock}>&-; fi  # what the caller starts does not hold it
