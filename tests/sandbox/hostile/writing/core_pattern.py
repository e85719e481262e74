# verdicts: AC
# why: a writable core_pattern runs a command as root outside, and so do several of its neighbours
import os

got = []
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper",
             "/proc/sys/fs/binfmt_misc/register", "/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/timer_stats"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        got.append(path)
    except OSError:
        pass
print(got or "contained")
