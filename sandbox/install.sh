#!/usr/bin/env bash
# Install what the sandbox service needs from Debian's (or Ubuntu's) packages: bubblewrap, a C compiler, and the toolchains
# of the languages, which sandbox/languages.py lists. Idempotent: what is there, from any source, is left alone. Python
# packages come with the project itself (the extra sandbox). `madrl install sandbox ...` calls this. $PYTHON: 3.11 or newer.
#   bash sandbox/install.sh               the usual languages (about 1.2 GB, 2 minutes)
#   bash sandbox/install.sh cpp python    only these; rust is installed when it is named
#   bash sandbox/install.sh firejail      the fallback backend, for machines on which bubblewrap cannot work
set -euo pipefail

table=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && "${PYTHON:-python3}" -m sandbox.languages)
declare -A NEEDS=([firejail]="firejail:firejail")
usual=() known=()
while read -r name tool package when; do
  NEEDS[$name]=$tool:$package known+=("$name")
  [ "$when" = on-request ] || usual+=("$name")
done <<<"$table"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=("${usual[@]}")

wanted=("bwrap:bubblewrap" "gcc:gcc")
for language in "${languages[@]}"; do
  if [ -z "${NEEDS[$language]:-}" ]; then
    echo "sandbox/install.sh: unknown language '$language': use some of ${known[*]} firejail" >&2
    exit 2
  fi
  [ "${NEEDS[$language]}" = gcc:gcc ] || wanted+=("${NEEDS[$language]}")
done

packages=()
for pair in "${wanted[@]}"; do
  tool=${pair%%:*} package=${pair##*:}
  found=$(PATH=/usr/bin:/bin:/usr/local/bin:/usr/local/go/bin command -v "$tool" || true)
  if [ -n "$found" ]; then echo "$tool: $found"; else echo "$tool: to be installed ($package)"; packages+=("$package"); fi
done
[ -e /usr/include/stdio.h ] || packages+=(libc6-dev)
if [ ${#packages[@]} -eq 0 ]; then
  echo "everything is there"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "sandbox/install.sh: this is no Debian: install ${packages[*]} with your own package manager" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "sandbox/install.sh: not root, and no sudo: ask for ${packages[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing ${packages[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
echo "done: start the service with 'python -m sandbox'"
