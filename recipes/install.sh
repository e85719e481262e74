#!/usr/bin/env bash
# Set up .venv with everything that training needs. Idempotent: it does nothing when nothing has changed.
#   bash recipes/install.sh              the CPU or the GPU stack, whichever this machine can use
#   STACK=cpu|gpu bash recipes/install.sh
# Time: about 2 minutes and 4 GB for the CPU stack; the GPU stack is larger.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=${VENV:-.venv}
PYTHON=${PYTHON:-python3}
if [ -z "${STACK:-}" ]; then
  if nvidia-smi >/dev/null 2>&1; then STACK=gpu; else STACK=cpu; fi
fi

wanted=$({ echo "$STACK"; cat pyproject.toml recipes/requirements-cpu.txt "${BASH_SOURCE[0]}"; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$VENV/.madrl-stack" 2>/dev/null || true)" = "$wanted" ]; then exit 0; fi

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "recipes/install.sh: $PYTHON is not Python 3.11 or newer: set PYTHON=/path/to/python3.11" >&2
  exit 1
fi
echo "installing the $STACK stack into $VENV (log: $VENV/install.log)"
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"

# The log is shown when a step fails, and only then.
quietly() {
  if ! "$@" >>"$VENV/install.log" 2>&1; then
    tail -n 20 "$VENV/install.log" >&2
    echo "recipes/install.sh: failed: $*" >&2
    return 1
  fi
}
pip() { "$VENV/bin/python" -m pip "$@"; }

if [ "$STACK" = cpu ]; then
  # requirements-cpu.txt is a closure, so nothing is resolved: the resolver would add CUDA builds of torchvision and
  # torchaudio, with which transformers cannot be imported beside a CPU build of torch.
  torch=$(grep '^torch==' recipes/requirements-cpu.txt)
  if ! pip install --no-deps "$torch" >>"$VENV/install.log" 2>&1; then
    quietly pip install --no-deps "$torch" --index-url https://download.pytorch.org/whl/cpu
  fi
  quietly pip install --no-deps -r recipes/requirements-cpu.txt
  quietly pip install --no-deps -e .
elif [ "$STACK" = gpu ]; then
  quietly pip install -e '.[gpu]'
else
  echo "recipes/install.sh: STACK=$STACK is neither cpu nor gpu" >&2
  exit 1
fi
echo "$wanted" >"$VENV/.madrl-stack"
