#!/usr/bin/env bash
# Set up everything that training needs. Idempotent: it does nothing when nothing has changed, and an installation that
# was interrupted is finished by the next call.
#   STACK=cpu bash recipes/install.sh    into .venv: 2 to 3 minutes, 4 GB (the default without a GPU)
#   STACK=gpu bash recipes/install.sh    into .venv-gpu: veRL's own vllm and fsdp extras
# VENV=DIR installs elsewhere, PYTHON=/path/to/python3.11 uses another interpreter.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0" && exit ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. recipes/environment.sh

wanted=$({ echo "$STACK"; cat pyproject.toml recipes/requirements-cpu.txt recipes/install.sh; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$VENV/.madrl-stack" 2>/dev/null || true)" = "$wanted" ]; then exit 0; fi

PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
  echo "recipes/install.sh: $PYTHON is not Python 3.11 to 3.13: set PYTHON=/path/to/python3.11" >&2
  exit 1
fi
echo "installing the $STACK stack into $VENV (log: $VENV/install.log)"
if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
  "$PYTHON" -m venv --clear "$VENV" || {
    echo "recipes/install.sh: $PYTHON cannot make a virtual environment (on Debian: apt-get install python3-venv)" >&2
    exit 1
  }
fi

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
else
  # flash-attn is built against the torch that is there, so torch comes first and the build is not isolated.
  quietly pip install 'verl[vllm]==0.9.1' packaging ninja wheel setuptools
  quietly pip install --no-build-isolation -e '.[gpu]'
fi
echo "$wanted" >"$VENV/.madrl-stack"
