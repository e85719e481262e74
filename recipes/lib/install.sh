# Sourced by the other scripts, or called: makes the environment that recipes run in, installs madrl and the packages
# that training needs into it, and puts it first in PATH. Nothing happens when nothing has changed or moved, and an
# installation that was interrupted is finished by the next call. Files that are not its own it leaves alone.
#   STACK=cpu bash recipes/lib/install.sh    into .venv: 2 to 3 minutes, 4 GB (the default without a GPU)
#   STACK=gpu bash recipes/lib/install.sh    into .venv-gpu: veRL's own vllm stack, and flash-attn from a wheel if
#                                            FLASH_ATTN_WHEEL or FLASH_ATTN_INDEX names one (docs/gpu.md)
# .venv is the checkout's. VENV=DIR installs elsewhere, PYTHON=/path/to/python3.11 uses another interpreter.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
if [ -z "${STACK:-}" ]; then
  if nvidia-smi >/dev/null 2>&1; then STACK=gpu; else STACK=cpu; fi
fi
case $STACK in
  cpu) own=.venv other=gpu ;;
  gpu) own=.venv-gpu other=cpu ;;
  *) echo "STACK=$STACK is neither cpu nor gpu" >&2; exit 1 ;;
esac
# What a call for the other stack has exported to what it started is not for this one.
if [ "${VENV_EXPORTED:-}" = "$other ${VENV:-}" ]; then VENV=; fi
VENV=$(realpath -m "${VENV:-$checkout/$own}")
export STACK VENV VENV_EXPORTED="$STACK $VENV" PATH="$VENV/bin:$PATH"
PYTHON=${PYTHON:-python3}
fail() { echo "recipes/lib/install.sh: $1" >&2; exit 1; }

# One call at a time installs; the others wait for it. Where nothing can be written nothing can be installed either.
mkdir -p "$(dirname "$VENV")"
lock=
if { : >>"$VENV.lock"; } 2>/dev/null; then
  exec {lock}>>"$VENV.lock"
  flock "$lock"
fi
# Where the checkout and the environment were when it was installed: both may have been moved or copied since.
place=$VENV/.madrl-place
if [ -e "$place" ] && [ "$(cat "$place")" != "$VENV"$'\n'"$checkout" ]; then
  { read -r was && read -r of; } <"$place" || fail "$place is damaged: remove it, if $VENV is this checkout's"
  # Runs of that checkout may be starting processes from it.
  if [ "$was" = "$VENV" ] && [ -e "$of/pyproject.toml" ]; then
    fail "VENV=$VENV is the environment of $of: name another folder, or remove $place to move it to $checkout"
  fi
  # The first line of a script, which names its Python, ends at a space.
  case $VENV in *" "*) fail "$VENV was made at $was, and cannot be moved to a path with a space: remove it" ;; esac
  rm -f "$VENV/.madrl-pyproject.toml"
  # Scripts name the environment's Python, and activate its folder.
  "$PYTHON" - "$was" "$VENV" <<'END'
import pathlib, sys
was, now = (path.encode() for path in sys.argv[1:])
for script in pathlib.Path(sys.argv[2], "bin").iterdir():
    if was != now and script.is_file() and not script.is_symlink() and was in (text := script.read_bytes()):
        script.write_bytes(text.replace(was, now))
END
  printf '%s\n' "$VENV" "$checkout" >"$place"
fi
if ! cmp -s "$checkout/pyproject.toml" "$VENV/.madrl-pyproject.toml"; then
  if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    made=$VENV/.madrl-made  # by this script, which may make it again
    if [ -e "$made" ] || [ -z "$(ls -A "$VENV" 2>/dev/null)" ]; then
      # Not the Python of an environment, which may be the one that is emptied.
      base='import sys; print(sys._base_executable); sys.exit(not (3, 11) <= sys.version_info < (3, 13))'
      base=$("$PYTHON" -c "$base" 2>/dev/null) ||
        fail "$PYTHON is not Python 3.11 or 3.12: set PYTHON=/path/to/python3.11"
      mkdir -p "$VENV"
      touch "$made"
      rm -rf "$VENV"/{bin,include,lib,lib64,share,etc,pyvenv.cfg}
      "$base" -m venv "$VENV" ||
        fail "$base cannot make an environment (on Debian: apt-get install python3-venv)"
    elif [ ! -e "$VENV/pyvenv.cfg" ]; then
      fail "VENV=$VENV holds files and is no Python environment: name another folder, or empty it"
    elif ! "$VENV/bin/python" -m ensurepip >/dev/null 2>&1; then
      fail "VENV=$VENV has no pip that works, and ensurepip fails in it: remove it, or name another folder"
    fi
  fi
  if ! python -m pip install --no-deps -e "$checkout" >>"$VENV/install.log" 2>&1; then
    tail -n 20 "$VENV/install.log" >&2
    exit 1
  fi
  printf '%s\n' "$VENV" "$checkout" >"$place"
  cp "$checkout/pyproject.toml" "$VENV/.madrl-pyproject.toml"
fi
madrl install "$STACK" >&2
if [ -n "$lock" ]; then exec {lock}>&-; fi  # what the caller starts does not hold it
