"""The system calls that a jailed process may make, as a classic-BPF program for seccomp(2).

It is an allow-list. A call that is not named here answers ENOSYS, so that a call that a newer kernel adds stays closed
until somebody has looked at it. A runtime that probes for it, as glibc does for clone3, falls back. Nine calls are
allowed for some arguments only. Another architecture's calls (int 0x80, x32) kill the process.

execve and execveat are named, for compilers and for the start of the program itself. native/runner.c refuses the
program's own.

Left out on purpose: mount and its kin, unshare, setns, clone3 (its flags lie behind a pointer that BPF cannot read),
ptrace, process_vm_*, pidfd_getfd, kcmp, bpf, io_uring, userfaultfd, perf_event_open, keyctl, memfd_create (memory that
no rlimit counts), System V IPC and POSIX queues (they outlive a process), personality, mbind, setpriority. And what
would let two programs that run one after another, or at once, tell each other something by way of files that both see:
flock and fcntl's locks, inotify (which tells of the runner's looks at /proc as well), fadvise64, readahead, preadv2,
mincore and some advice of madvise (the page cache), and flags of inodes, which stay when a file's content goes.
"""

import errno
import platform
import struct
from typing import NamedTuple

ALLOW = 0x7FFF0000  # SECCOMP_RET_ALLOW
KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS
AF_UNIX = 1
SO_SNDBUF = 7  # a socket holds kernel memory up to this, and the machine may allow megabytes
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
LEASES = F_SETLEASE, F_NOTIFY, F_SETDELEG = 1024, 1026, 1040
"""fcntl's commands. With a lease on a file in /proc its readers wait, the runner too."""
LOCKS = F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW = 6, 7, 37, 38
PAGE_CACHE = MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ = 3, 20, 21, 22
"""Advice about pages that others share. No runtime starts or runs by it."""
INODE_FLAGS = FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR = 0x40086602, 0x40046602, 0x401C5820
NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""The flags of clone(2) that make a namespace: CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}."""

# Offsets in struct seccomp_data; the low half of an argument comes first on both (little-endian) architectures.
_NR, _ARCH, _ARG0, _ARG1, _ARG2 = 0, 4, 16, 24, 32
_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06

CONDITIONAL = (
    "clone", "socket", "socketpair", "setsockopt", "fcntl", "ioctl", "prlimit64", "sched_setaffinity", "madvise",
)  # fmt: skip
"""Calls that are allowed for some arguments only. The rules are in _conditions()."""

# Numbers from the kernel's asm/unistd_64.h and asm-generic/unistd.h, which never change.
_X86_64 = {
    "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "mremap": 25,
    "msync": 26, "madvise": 28, "mlock": 149, "munlock": 150, "mlockall": 151, "munlockall": 152,
    "mlock2": 325, "mseal": 462, "membarrier": 324, "get_mempolicy": 239, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
    "rt_sigsuspend": 130, "sigaltstack": 131, "signalfd": 282, "signalfd4": 289, "pause": 34, "kill": 62, "tkill": 200,
    "tgkill": 234, "pidfd_open": 434, "pidfd_send_signal": 424, "pread64": 17, "pwrite64": 18, "readv": 19,
    "writev": 20, "preadv": 295, "pwritev": 296, "sendfile": 40, "splice": 275, "tee": 276, "vmsplice": 278,
    "copy_file_range": 326, "sync_file_range": 277, "fallocate": 285, "open": 2, "openat": 257, "openat2": 437,
    "creat": 85, "access": 21, "faccessat": 269, "faccessat2": 439, "stat": 4, "fstat": 5, "lstat": 6,
    "newfstatat": 262, "statx": 332, "statfs": 137, "fstatfs": 138, "readlink": 89, "readlinkat": 267, "getdents": 78,
    "getdents64": 217, "getcwd": 79, "chdir": 80, "fchdir": 81, "rename": 82, "renameat": 264, "renameat2": 316,
    "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86, "linkat": 265, "unlink": 87, "unlinkat": 263, "symlink": 88,
    "symlinkat": 266, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93,
    "lchown": 94, "fchownat": 260, "umask": 95, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261,
    "truncate": 76, "ftruncate": 77, "fsync": 74, "fdatasync": 75, "pipe": 22, "pipe2": 293, "dup": 32, "dup2": 33,
    "dup3": 292, "fcntl": 72, "close_range": 436, "eventfd": 284, "eventfd2": 290, "select": 23, "pselect6": 270,
    "poll": 7, "ppoll": 271, "epoll_create": 213, "epoll_create1": 291, "epoll_ctl": 233, "epoll_ctl_old": 214,
    "epoll_wait": 232, "epoll_wait_old": 215, "epoll_pwait": 281, "epoll_pwait2": 441, "fork": 57, "vfork": 58,
    "execve": 59, "execveat": 322, "exit": 60, "exit_group": 231, "wait4": 61, "waitid": 247, "set_tid_address": 218,
    "restart_syscall": 219, "set_robust_list": 273, "get_robust_list": 274, "futex": 202, "futex_waitv": 449,
    "futex_wake": 454, "futex_wait": 455, "futex_requeue": 456, "rseq": 334, "arch_prctl": 158, "prctl": 157,
    "map_shadow_stack": 453, "getpid": 39, "gettid": 186, "getppid": 110, "getuid": 102, "getgid": 104, "geteuid": 107,
    "getegid": 108, "getgroups": 115, "getresuid": 118, "getresgid": 120, "getpgid": 121, "getpgrp": 111, "getsid": 124,
    "setpgid": 109, "setsid": 112, "capget": 125, "uname": 63, "sysinfo": 99, "times": 100, "getrusage": 98,
    "getrlimit": 97, "setrlimit": 160, "getpriority": 140, "getcpu": 309, "sched_yield": 24, "sched_getparam": 143,
    "sched_getscheduler": 145, "sched_getattr": 315, "sched_get_priority_max": 146, "sched_get_priority_min": 147,
    "sched_rr_get_interval": 148, "sched_getaffinity": 204, "connect": 42, "accept": 43, "accept4": 288, "bind": 49,
    "listen": 50, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47, "sendmmsg": 307, "recvmmsg": 299,
    "shutdown": 48, "getsockname": 51, "getpeername": 52, "setsockopt": 54, "getsockopt": 55, "nanosleep": 35,
    "clock_nanosleep": 230, "getitimer": 36, "setitimer": 38, "alarm": 37, "gettimeofday": 96, "time": 201,
    "clock_gettime": 228, "clock_getres": 229, "timer_create": 222, "timer_settime": 223, "timer_gettime": 224,
    "timer_getoverrun": 225, "timer_delete": 226, "timerfd_create": 283, "timerfd_settime": 286, "timerfd_gettime": 287,
    "getrandom": 318, "clone": 56, "socket": 41, "socketpair": 53, "ioctl": 16, "prlimit64": 302,
    "sched_setaffinity": 203,
}  # fmt: skip

_AARCH64 = {
    "read": 63, "write": 64, "close": 57, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214,
    "mremap": 216, "msync": 227, "madvise": 233, "mlock": 228, "munlock": 229, "mlockall": 230,
    "munlockall": 231, "mlock2": 284, "mseal": 462, "membarrier": 283, "get_mempolicy": 236, "rt_sigaction": 134,
    "rt_sigprocmask": 135, "rt_sigreturn": 139, "rt_sigpending": 136, "rt_sigtimedwait": 137, "rt_sigqueueinfo": 138,
    "rt_tgsigqueueinfo": 240, "rt_sigsuspend": 133, "sigaltstack": 132, "signalfd4": 74, "kill": 129, "tkill": 130,
    "tgkill": 131, "pidfd_open": 434, "pidfd_send_signal": 424, "pread64": 67, "pwrite64": 68, "readv": 65,
    "writev": 66, "preadv": 69, "pwritev": 70, "sendfile": 71, "splice": 76, "tee": 77, "vmsplice": 75,
    "copy_file_range": 285, "sync_file_range": 84, "fallocate": 47, "openat": 56, "openat2": 437, "faccessat": 48,
    "faccessat2": 439, "fstat": 80, "newfstatat": 79, "statx": 291, "statfs": 43, "fstatfs": 44, "readlinkat": 78,
    "getdents64": 61, "getcwd": 17, "chdir": 49, "fchdir": 50, "renameat": 38, "renameat2": 276, "mkdirat": 34,
    "linkat": 37, "unlinkat": 35, "symlinkat": 36, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55,
    "fchownat": 54, "umask": 166, "utimensat": 88, "truncate": 45, "ftruncate": 46, "fsync": 82, "fdatasync": 83,
    "pipe2": 59, "dup": 23, "dup3": 24, "fcntl": 25, "close_range": 436, "eventfd2": 19, "pselect6": 72, "ppoll": 73,
    "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22, "epoll_pwait2": 441, "execve": 221, "execveat": 281,
    "exit": 93, "exit_group": 94, "wait4": 260, "waitid": 95, "set_tid_address": 96, "restart_syscall": 128,
    "set_robust_list": 99, "get_robust_list": 100, "futex": 98, "futex_waitv": 449, "futex_wake": 454,
    "futex_wait": 455, "futex_requeue": 456, "rseq": 293, "prctl": 167, "map_shadow_stack": 453, "getpid": 172,
    "gettid": 178, "getppid": 173, "getuid": 174, "getgid": 176, "geteuid": 175, "getegid": 177, "getgroups": 158,
    "getresuid": 148, "getresgid": 150, "getpgid": 155, "getsid": 156, "setpgid": 154, "setsid": 157, "capget": 90,
    "uname": 160, "sysinfo": 179, "times": 153, "getrusage": 165, "getrlimit": 163, "setrlimit": 164,
    "getpriority": 141, "getcpu": 168, "sched_yield": 124, "sched_getparam": 121, "sched_getscheduler": 120,
    "sched_getattr": 275, "sched_get_priority_max": 125, "sched_get_priority_min": 126, "sched_rr_get_interval": 127,
    "sched_getaffinity": 123, "connect": 203, "accept": 202, "accept4": 242, "bind": 200, "listen": 201, "sendto": 206,
    "recvfrom": 207, "sendmsg": 211, "recvmsg": 212, "sendmmsg": 269, "recvmmsg": 243, "shutdown": 210,
    "getsockname": 204, "getpeername": 205, "setsockopt": 208, "getsockopt": 209, "nanosleep": 101,
    "clock_nanosleep": 115, "getitimer": 102, "setitimer": 103, "gettimeofday": 169, "clock_gettime": 113,
    "clock_getres": 114, "timer_create": 107, "timer_settime": 110, "timer_gettime": 108, "timer_getoverrun": 109,
    "timer_delete": 111, "timerfd_create": 85, "timerfd_settime": 86, "timerfd_gettime": 87, "getrandom": 278,
    "clone": 220, "socket": 198, "socketpair": 199, "ioctl": 29, "prlimit64": 261, "sched_setaffinity": 122,
}  # fmt: skip


class Architecture(NamedTuple):
    """One processor: its AUDIT_ARCH number and its system calls."""

    audit: int
    calls: dict[str, int]


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, _X86_64), "aarch64": Architecture(0xC00000B7, _AARCH64)}

_Instruction = tuple[int, int, int, int]


def _error(number: int) -> int:
    return 0x00050000 | number  # SECCOMP_RET_ERRNO


def _conditions(calls: dict[str, int]) -> list[list[_Instruction]]:
    """A block of instructions for each call. It starts with a call's number loaded and is skipped for other calls."""
    denied, allowed = (_RET, 0, 0, _error(errno.EPERM)), (_RET, 0, 0, ALLOW)

    def block(name: str, *body: _Instruction) -> list[_Instruction]:
        return [(_JEQ, 0, len(body), calls[name]), *body]

    def only_if_argument_is(offset: int, value: int) -> tuple[_Instruction, ...]:
        return ((_LOAD, 0, 0, offset), (_JEQ, 0, 1, value), allowed, denied)

    def unless_argument_is(offset: int, *values: int) -> tuple[_Instruction, ...]:
        tests = [(_JEQ, len(values) - i, 0, value) for i, value in enumerate(values)]
        return ((_LOAD, 0, 0, offset), *tests, allowed, denied)

    return [
        block("clone", (_LOAD, 0, 0, _ARG0), (_JSET, 0, 1, NAMESPACES), denied, allowed),
        block("socket", *only_if_argument_is(_ARG0, AF_UNIX)),
        block("socketpair", *only_if_argument_is(_ARG0, AF_UNIX)),
        block("setsockopt", *unless_argument_is(_ARG2, SO_SNDBUF)),
        block("fcntl", *unless_argument_is(_ARG1, *LEASES, *LOCKS)),
        block("ioctl", *unless_argument_is(_ARG1, TIOCSTI, TIOCLINUX, *INODE_FLAGS)),
        block("prlimit64", *only_if_argument_is(_ARG0, 0)),
        block("sched_setaffinity", *only_if_argument_is(_ARG0, 0)),
        block("madvise", *unless_argument_is(_ARG2, *PAGE_CACHE)),
    ]


def build_filter(machine: str | None = None) -> bytes:
    """The filter for ``machine`` (as ``uname -m`` names it; this one by default), as an array of struct sock_filter.

    Raises KeyError for an architecture that has no table here.
    """
    architecture = ARCHITECTURES[machine or platform.machine()]
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, architecture.audit),
        (_RET, 0, 0, KILL),
        (_LOAD, 0, 0, _NR),
        (_JGE, 0, 1, 0x40000000),  # x32
        (_RET, 0, 0, KILL),
    ]
    for block in _conditions(architecture.calls):
        program += block
    for first, last in _ranges(sorted(n for name, n in architecture.calls.items() if name not in CONDITIONAL)):
        program += [(_JGE, 0, 2, first), (_JGE, 1, 0, last + 1), (_RET, 0, 0, ALLOW)]
    program.append((_RET, 0, 0, _error(errno.ENOSYS)))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """The (first, last) of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
