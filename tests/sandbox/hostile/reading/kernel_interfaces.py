# verdicts: AC
# why: devices, kernel memory and logs, sysfs and cgroupfs: none is there, or none opens
import os

got = []
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/loop0", "/dev/loop-control",
             "/dev/fuse", "/dev/userfaultfd", "/dev/vsock", "/dev/vhost-net", "/dev/net/tun", "/dev/cpu_dma_latency", "/dev/hwrng",
             "/dev/snapshot", "/dev/autofs", "/dev/btrfs-control", "/dev/zram0", "/dev/input/event0", "/dev/nvidia0", "/dev/dri",
             "/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/sched_debug",
             "/proc/slabinfo", "/proc/vmallocinfo", "/proc/acpi", "/proc/driver", "/proc/scsi"):
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            fd = os.open(path, flags)
        except OSError:
            continue
        try:
            if os.path.isdir(path) and not os.listdir(path):
                continue
            got.append((path, flags))
        except OSError:
            pass
        finally:
            os.close(fd)
for folder in ("/sys", "/sys/fs/cgroup", "/sys/kernel", "/run", "/var/run"):
    try:
        if names := os.listdir(folder):
            got.append((folder, names[:5]))
    except OSError:
        pass
try:
    with open("/proc/kallsyms") as file:
        got += [line for line in [file.readline()] if line and int(line.split()[0], 16)]
except OSError:
    pass
print(got or "contained")
