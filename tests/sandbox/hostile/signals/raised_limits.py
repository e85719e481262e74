# verdicts: AC
# why: raises its own limits above what it was given
import resource

got = []
for name in ("NPROC", "NOFILE", "FSIZE", "AS", "CPU", "CORE", "STACK", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO"):
    what = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.getrlimit(what)
    try:
        resource.setrlimit(what, (soft, resource.RLIM_INFINITY if hard == resource.RLIM_INFINITY else hard + 1))
        if hard != resource.RLIM_INFINITY:
            got.append(name)
    except (OSError, ValueError):
        pass
    # A limit of 1 on core files is stricter than 0: with 0 the kernel still starts a core_pattern that is a command.
    if name in ("CORE", "MSGQUEUE", "NICE", "RTPRIO") and hard not in (0, 1):
        got.append((name, hard))
    if name in ("NPROC", "NOFILE", "FSIZE") and hard == resource.RLIM_INFINITY:
        got.append((name, "unlimited"))
print(got or "contained")
