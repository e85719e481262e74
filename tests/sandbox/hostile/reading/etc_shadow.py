# verdicts: AC
# why: the host's secrets by name, by links and by every way round that /proc offers
import glob

FILES = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/passwd", "/etc/ssh/ssh_host_ed25519_key", "/root/.ssh/id_rsa",
         "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/machine-id", "/var/lib/dpkg/status", "/boot/vmlinuz"]
ROOTS = ["", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../..", "/proc/thread-self/root", "/tmp/../../..", "/oldroot",
         "/newroot", "/.old_root", *glob.glob("/proc/*/root"), *glob.glob("/proc/*/cwd/..")]
got = []
for name in FILES:
    for root in ROOTS:
        try:
            with open(root + name, "rb") as file:
                got.append((root + name, file.read(20)))
        except OSError:
            pass
print(got or "contained")
