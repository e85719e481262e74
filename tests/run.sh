#!/usr/bin/env bash
# Everything that must hold before a change lands: lint, types, the suite with the real trainer, but for what is marked
# nightly. Installs what it needs. Arguments go to pytest: bash tests/run.sh -m "not verl" runs the quick part, and
# bash tests/run.sh -m nightly what was left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
STACK=cpu
. recipes/lib/install.sh
madrl install sandbox python cpp java go javascript firejail >"$VENV/sandbox.log" 2>&1 || {
  tail -n 20 "$VENV/sandbox.log" >&2
  exit 1
}
# The report's page is opened in a real browser. Where none can be had those tests skip, and say so.
if ! command -v chromium-headless-shell >/dev/null && ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ]; then
  {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium-headless-shell
  } >"$VENV/browser.log" 2>&1 || echo "tests/run.sh: no browser could be installed: see $VENV/browser.log" >&2
fi
stamp=$(cat pyproject.toml tests/run.sh | sha256sum | cut -d' ' -f1)
if [ "$(cat "$VENV/.madrl-dev" 2>/dev/null || true)" != "$stamp" ]; then
  python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*extras["dev"], *extras["docs"], sep="\n")' \
    >"$VENV/dev.txt"
  python -m pip install -q -r "$VENV/dev.txt"
  echo "$stamp" >"$VENV/.madrl-dev"
fi
ruff check .
ruff format --check .
mypy
if [ $# -gt 0 ]; then
  exec python -m pytest "$@"
fi
# Two processes, which tests/conftest.py says how to share. The sandbox's tests not beside the trainer's, which keep both
# cores busy for minutes: some count what is left on the machine, or how long it takes. What took longest is printed last.
in_pairs=(-n 2 --dist loadgroup --no-loadscope-reorder --durations=40 --durations-min=10 -m "not nightly")
status=0
python -m pytest "${in_pairs[@]}" tests/sandbox || status=$?
python -m pytest "${in_pairs[@]}" --ignore=tests/sandbox || status=$?
exit "$status"
