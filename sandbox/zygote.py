"""Process 1 of a Python sandbox. It imports what programs often do, then forks a copy of itself for every test.

It runs inside the sandbox, with the system's own interpreter. The loop is native/runner.c, loaded as a library, whose
serve() returns 1 in a forked child whose standard streams are the test's. What the child does from then on is what
``python3 main.py`` does, as far as a program can tell; the parent never sees a program.
"""

import atexit
import contextlib
import ctypes
import gc
import io
import marshal
import os
import signal
import sys
import threading
import types

# Modules to import before the fork, so that no test has to.
PRELOAD = (
    "math", "collections", "heapq", "bisect", "itertools", "functools", "re", "string", "random", "operator", "copy",
    "io", "time", "typing", "fractions", "decimal", "datetime", "queue", "array", "json", "statistics", "dataclasses",
    "enum", "numbers", "cmath", "struct", "traceback", "contextlib", "abc", "textwrap",
)  # fmt: skip


def main() -> types.CodeType:
    """Serve, and return in each forked child, with the program that it is for."""
    runner, box, modules, *numbers = sys.argv[1:]
    library = ctypes.PyDLL(runner)
    for name in (*PRELOAD, *modules.split(",")):
        with contextlib.suppress(ImportError, ValueError):  # no such module; no more modules
            __import__(name)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # with a handler, process 1 could be interrupted from inside
    gc.collect()
    gc.freeze()
    if library.prepare(*map(int, numbers)):
        os._exit(1)
    if library.serve() != 1:
        os._exit(0)
    ctypes.pythonapi.PyOS_AfterFork_Child()
    open_standard_streams()
    with open(f"{box}/main.bin", "rb") as file:  # noqa: PTH123 (pathlib costs more than the rest of this)
        code: types.CodeType = marshal.load(file)
    return code


def open_standard_streams() -> None:
    """Open sys.stdin, stdout and stderr as the interpreter does when it starts.

    Those of process 1 remember of its own descriptors what need not hold of this process's, such as where in a file
    they stand: a stream that a program puts around one of them would fail with an illegal seek in a pipe.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        buffer = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
        buffer.raw.name = f"<{name}>"  # type: ignore[attr-defined]
        terminal = number == 2 or buffer.isatty()
        stream = io.TextIOWrapper(buffer, old.encoding, old.errors, newline="\n", line_buffering=terminal)
        stream.mode = "w" if number else "r"  # type: ignore[misc]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def set_up() -> types.ModuleType:
    """Do what the interpreter does before a script, and return its module __main__."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__="/box/main.py", __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = module
    sys.argv = ["/box/main.py"]
    sys.path[0] = "/tmp"  # where the script would be: its working directory
    return module


def status_of(error: BaseException) -> int:
    """The exit status of a script that raised this, which is printed without our frame."""
    if isinstance(error, SystemExit):
        return exit_status(error.code)
    inner = error.__traceback__ and error.__traceback__.tb_next
    with contextlib.suppress(BaseException):
        sys.excepthook(type(error), error.with_traceback(inner), inner)
    return 1


def end(module: types.ModuleType, status: int) -> None:
    """Do what the interpreter does after a script, and exit."""
    for step in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
        with contextlib.suppress(BaseException):
            step()
    # Flushed twice, as by the interpreter: while a stream of the program's own has its globals, and behind finalizers,
    # where a stream that the program has detached is no failure.
    if not all([flush("stdout"), flush("stderr")]):
        status = 120
    sys.stdout, sys.stderr = getattr(sys, "__stdout__", None), getattr(sys, "__stderr__", None)
    with contextlib.suppress(BaseException):
        for name in reversed([*module.__dict__]):  # so that a finalizer finds what was defined before its object
            module.__dict__.pop(name, None)
        gc.collect()
    flush("stdout")
    flush("stderr")
    os._exit(status)


def flush(name: str) -> bool:
    """Flush the stream of sys with this name. False when that fails; there is nothing to do for one that is closed."""
    try:
        stream = getattr(sys, name, None)
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
        return True
    except BaseException:
        return False


def exit_status(code: object) -> int:
    """The exit status that ``raise SystemExit(code)`` gives."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    with contextlib.suppress(BaseException):
        print(code, file=sys.stderr)
    return 1


# Here, and without exec: each call on the way to the program is one that its recursion limit lacks.
code, module, status = main(), set_up(), 0
try:
    types.FunctionType(code, module.__dict__)()
except BaseException as error:
    status = status_of(error)
end(module, status)
