#!/usr/bin/env bash
# Install what the sandbox service needs from Debian's (or Ubuntu's) packages: bubblewrap, a C and a C++ compiler, a JDK,
# Go, Node and Python. Idempotent: what is there, from any source, is left alone. Python packages come with the project
# itself (the extra sandbox). `madrl install sandbox ...` calls this.
#   bash sandbox/install.sh               everything (about 1.2 GB, 2 minutes)
#   bash sandbox/install.sh cpp python    only some languages
#   bash sandbox/install.sh firejail      the fallback backend, for machines on which bubblewrap cannot work
set -euo pipefail

declare -A NEEDS=(
  [python]="python3:python3"
  [cpp]="g++:g++"
  [java]="javac:default-jdk-headless"
  [go]="go:golang-go"
  [javascript]="node:nodejs"
  [firejail]="firejail:firejail"
)
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(python cpp java go javascript)

wanted=("bwrap:bubblewrap" "gcc:gcc")
for language in "${languages[@]}"; do
  if [ -z "${NEEDS[$language]:-}" ]; then
    echo "sandbox/install.sh: unknown language '$language': use some of python cpp java go javascript firejail" >&2
    exit 2
  fi
  wanted+=("${NEEDS[$language]}")
done

packages=()
for pair in "${wanted[@]}"; do
  tool=${pair%%:*} package=${pair##*:}
  # Python must be the system's own: a sandboxed user cannot reach an interpreter in somebody's home.
  if [ "$tool" = python3 ] && [ -x /usr/bin/python3 ]; then found=/usr/bin/python3
  else found=$(PATH=/usr/bin:/bin:/usr/local/bin:/usr/local/go/bin command -v "$tool" || true); fi
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
