#!/usr/bin/env bash
# The steps of .github/workflows/newest_verl.yml, in order: install, test, announce. They leave their notes in $VENV.
#   STACK=cpu VENV=.venv-newest bash .github/newest_verl.sh install      (and then: test)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. recipes/lib/install.sh
report=$VENV/newest_verl.txt

case ${1:-} in
  install)
    python -m pip install -q pytest pytest-asyncio hypothesis
    # Without its dependencies, which are locked. What it asks for and does not find here is in the report.
    python -m pip install -q --no-deps --upgrade verl
    ;;
  test)
    python -m pip check | grep '^verl ' >"$report" || true
    python -m pytest -q --disable-warnings tests/trainer/test_verl_seam.py --deselect \
      tests/trainer/test_verl_seam.py::test_the_installed_verl_is_the_pinned_one | tee -a "$report"
    ;;
  announce)
    newest=$(python -c 'from importlib.metadata import version; print(version("verl"))')
    pinned=$(sed -n 's/^TAG=v//p' REQUIRED_VERL.txt)
    title="veRL $newest is out, $pinned is pinned"
    if [ "$newest" = "$pinned" ] || [ "$(gh issue list --state all --search "\"$title\" in:title" --json number --jq length)" != 0 ]; then
      exit 0
    fi
    { echo 'What tests/trainer/test_verl_seam.py says of it, over the locked stack:'; sed 's/^/    /' "$report"; } |
      gh issue create --title "$title" --body-file -
    ;;
  *)
    echo ".github/newest_verl.sh: '${1:-}' is none of install, test, announce" >&2
    exit 2
    ;;
esac
