# verdicts: AC
# why: the mount table names what is mounted from outside; the checkout and the service's log are no business of a program
got = []
for name in ("mountinfo", "mounts", "mountstats", "cgroup", "cmdline", "maps", "environ"):
    for process in ("self", "1"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                content = file.read()
        except OSError:
            continue
        got += [(process, name, line) for line in content.replace(b"\0", b"\n").splitlines() if b"@repository@" in line]
print(got or "contained")
