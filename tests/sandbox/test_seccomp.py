"""The system-call filter, applied by the kernel to a real process."""

import errno
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.seccomp import ARCHITECTURES, CONDITIONAL, build_filter

ROOT = Path(__file__).parents[2]

FILTERED = f"""
import ctypes, errno, os, sys
sys.path.insert(0, {str(ROOT)!r})
from sandbox.seccomp import build_filter
libc = ctypes.CDLL(None, use_errno=True)
code = build_filter()
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
buffer = ctypes.create_string_buffer(code, len(code))
program = Program(len(code) // 8, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "ok"
"""

needs_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers here are x86-64's")


def _filtered(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", FILTERED + code], capture_output=True, text=True, timeout=300)


@needs_x86
@pytest.mark.parametrize(
    ("name", "number", "arguments", "expected"),
    [
        ("getpid", 39, (), "ok"),
        ("socket AF_UNIX", 41, (1, 1, 0), "ok"),
        ("socket AF_INET", 41, (2, 1, 0), "EPERM"),
        ("socket AF_NETLINK", 41, (16, 3, 0), "EPERM"),
        ("socket AF_UNIX with high bits set", 41, (1 | 1 << 32, 1, 0), "ok"),
        ("socketpair AF_UNIX", 53, (1, 1, 0, 0), "EFAULT"),
        ("setsockopt SO_SNDBUF", 54, (0, 1, 7, 0, 0), "EPERM"),
        ("setsockopt SO_REUSEADDR", 54, (0, 1, 2, 0, 0), "ENOTSOCK"),
        ("ptrace", 101, (0, 0, 0, 0), "ENOSYS"),
        ("unshare", 272, (0x10000000,), "ENOSYS"),
        ("clone with CLONE_NEWUSER", 56, (0x10000000 | 17, 0, 0, 0, 0), "EPERM"),
        ("clone3", 435, (0, 0), "ENOSYS"),
        ("memfd_create", 319, (0, 0), "ENOSYS"),
        ("io_uring_setup", 425, (1, 0), "ENOSYS"),
        ("bpf", 321, (0, 0, 0), "ENOSYS"),
        ("prlimit64 of itself", 302, (0, 7, 0, 0), "ok"),
        ("prlimit64 of process 1", 302, (1, 7, 0, 0), "EPERM"),
        ("sched_setaffinity of process 1", 203, (1, 0, 0), "EPERM"),
        ("fcntl F_GETFD", 72, (0, 1, 0), "ok"),
        ("fcntl F_SETLEASE", 72, (0, 1024, 1), "EPERM"),
        ("fcntl F_SETLEASE with high bits set", 72, (0, 1024 | 1 << 32, 1), "EPERM"),
        ("fcntl F_NOTIFY", 72, (0, 1026, 1), "EPERM"),
        ("fcntl F_SETDELEG", 72, (0, 1040, 0), "EPERM"),
        ("ioctl TIOCSTI", 16, (0, 0x5412, 0), "EPERM"),
        ("ioctl TIOCSTI with high bits set", 16, (0, 0x5412 | 1 << 32, 0), "EPERM"),
        ("ioctl TIOCLINUX", 16, (0, 0x541C, 0), "EPERM"),
        ("mincore", 27, (0, 0, 0), "ENOSYS"),
        ("madvise MADV_DONTNEED", 28, (0, 0, 4), "ok"),
        ("madvise MADV_WILLNEED", 28, (0, 0, 3), "EPERM"),
        ("madvise MADV_COLD", 28, (0, 0, 20), "EPERM"),
        ("madvise MADV_PAGEOUT", 28, (0, 0, 21), "EPERM"),
        ("madvise MADV_POPULATE_READ", 28, (0, 0, 22), "EPERM"),
        ("a call that no kernel has yet", 999, (), "ENOSYS"),
    ],
)
def test_each_call_has_its_answer(name: str, number: int, arguments: tuple[int, ...], expected: str) -> None:
    done = _filtered(f"print(call({number}, {', '.join(map(str, arguments))}))")
    assert done.stdout.strip() == expected, (name, done)


@needs_x86
def test_an_x32_call_kills_the_process() -> None:
    assert _filtered("call(0x40000000 | 39)").returncode == -signal.SIGSYS


@needs_x86
def test_threads_and_children_still_work() -> None:
    code = "import threading; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
    code += "p = os.fork()\nif p == 0: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"
    assert _filtered(code).stdout.split() == ["thread", "7"]


@pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
def test_every_conditional_call_exists_and_every_jump_lands_inside(machine: str) -> None:
    assert set(CONDITIONAL) <= set(ARCHITECTURES[machine].calls)
    program = build_filter(machine)
    count = len(program) // 8
    assert 0 < count <= 4096
    for index in range(count):
        code = int.from_bytes(program[8 * index : 8 * index + 2], "little")
        if code & 0x07 == 0x05:  # a jump
            assert index + 1 + max(program[8 * index + 2], program[8 * index + 3]) < count
    last = int.from_bytes(program[-4:], "little")
    assert last == 0x00050000 | errno.ENOSYS


def test_an_architecture_without_a_table_is_refused() -> None:
    with pytest.raises(KeyError):
        build_filter("riscv64")
