#!/usr/bin/env bash
# Everything that must hold before a change lands: lint, types, the whole suite with the real trainer.
# Installs what it needs. Arguments go to pytest: bash tests/run.sh -m "not verl" runs the quick part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=${VENV:-.venv}
bash recipes/install.sh
stamp=$(sha256sum pyproject.toml "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$VENV/.madrl-dev" 2>/dev/null || true)" != "$stamp" ]; then
  "$VENV/bin/python" -m pip install -q -r <("$VENV/bin/python" - <<'PY'
import tomllib
print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"]))
PY
  )
  echo "$stamp" >"$VENV/.madrl-dev"
fi
PATH="$PWD/$VENV/bin:$PATH"
ruff check .
ruff format --check .
mypy
python -m pytest "$@"
