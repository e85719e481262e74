# verdicts: AC
# why: everything that /proc tells of the runner beyond what any process may know
import os

got = []
for name in ("environ", "mem", "auxv", "syscall", "stack", "io", "personality", "pagemap", "smaps", "maps", "numa_maps", "timers",
             "clear_refs", "kpageflags", "smaps_rollup", "task/1/environ", "task/1/mem", "task/1/maps", "fdinfo/0", "patch_state",
             "map_files", "seccomp_cache"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            fd = os.open(f"/proc/1/{name}", flags)
        except OSError:
            continue
        try:
            if flags == os.O_RDONLY and not os.read(fd, 16):
                continue
            got.append((name, flags))
        except OSError:
            pass
        finally:
            os.close(fd)
for name in ("exe", "root", "cwd", "fd/0", "fd/3", "ns/mnt", "ns/pid", "ns/net", "ns/user"):
    try:
        got.append((name, os.readlink(f"/proc/1/{name}")))
    except OSError:
        pass
for name in ("fd", "fdinfo", "map_files", "task/1/fd", "root", "cwd"):
    try:
        got.append((name, os.listdir(f"/proc/1/{name}")))
    except OSError:
        pass
for name in ("oom_score_adj", "oom_adj", "autogroup", "sched", "coredump_filter", "timerslack_ns", "comm", "loginuid", "uid_map",
             "setgroups", "attr/current", "make-it-fail", "projid_map"):
    try:
        with open(f"/proc/1/{name}", "wb", buffering=0) as file:
            file.write(b"1")
        got.append(f"wrote {name}")
    except OSError:
        pass
print(got or "contained")
