# Sourced by the other scripts: which stack, and where it is installed (an absolute path).
if [ -z "${STACK:-}" ]; then
  if nvidia-smi >/dev/null 2>&1; then STACK=gpu; else STACK=cpu; fi
fi
case $STACK in
  cpu) VENV=${VENV:-.venv} ;;
  gpu) VENV=${VENV:-.venv-gpu} ;;
  *) echo "STACK=$STACK is neither cpu nor gpu" >&2; exit 1 ;;
esac
case $VENV in /*) ;; *) VENV=$PWD/$VENV ;; esac
export STACK VENV
