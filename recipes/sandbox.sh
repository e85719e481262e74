# Sourced by body.sh: start a sandbox on a free port, wait until it serves, and stop it when the shell exits.
# Sets MADRL_SANDBOX_URLS. Its log is $RUN/sandbox.log.
bash sandbox/install.sh >"$RUN/sandbox_install.log" 2>&1 || { tail -n 20 "$RUN/sandbox_install.log" >&2; exit 1; }
sandbox_port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# When the run ends nobody waits for what is still being judged.
python -m sandbox --host 127.0.0.1 --port "$sandbox_port" --drain-s 5 >>"$RUN/sandbox.log" 2>&1 &
sandbox_pid=$!
trap 'kill "$sandbox_pid" 2>/dev/null; wait "$sandbox_pid" 2>/dev/null || true' EXIT
export MADRL_SANDBOX_URLS=http://127.0.0.1:$sandbox_port
until python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1])' "$MADRL_SANDBOX_URLS/health" 2>/dev/null; do
  if ! kill -0 "$sandbox_pid" 2>/dev/null; then
    tail -n 5 "$RUN/sandbox.log" >&2
    echo "recipes/sandbox.sh: the sandbox did not start: see $RUN/sandbox.log" >&2
    exit 1
  fi
  sleep 0.5
done
