// verdicts: AC
// why: mounts, remounts, unmounts and moves its root, by the old system calls and the new ones
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  mkdir("/tmp/m", 0777);
  for (const char *type : {"tmpfs", "proc", "sysfs", "cgroup", "cgroup2", "overlay", "devpts", "mqueue", "fuse", "ext4", "bpf"})
    if (mount("none", "/tmp/m", type, 0, "") == 0) got = true, printf("mounted %s\n", type);
  for (const char *path : {"/", "/usr", "/box", "/proc", "/dev", "/tmp"}) {
    if (mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 || mount(nullptr, path, nullptr, MS_REMOUNT, nullptr) == 0)
      got = true, printf("remounted %s\n", path);
    if (mount(path, "/tmp/m", nullptr, MS_BIND | MS_REC, nullptr) == 0) got = true, printf("bound %s\n", path);
    if (mount(nullptr, path, nullptr, MS_SHARED, nullptr) == 0) got = true, printf("shared %s\n", path);
    if (umount2(path, MNT_DETACH) == 0) got = true, printf("unmounted %s\n", path);
    if (syscall(SYS_open_tree, AT_FDCWD, path, 1) >= 0) got = true, printf("open_tree %s\n", path);
    unsigned long change[4] = {0, 1, 0, 0};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, 0, change, sizeof change) == 0) got = true, printf("mount_setattr %s\n", path);
    if (syscall(SYS_fspick, AT_FDCWD, path, 0) >= 0) got = true, printf("fspick %s\n", path);
  }
  if (syscall(SYS_fsopen, "tmpfs", 0) >= 0 || syscall(SYS_fsopen, "proc", 0) >= 0) got = true, puts("fsopen");
  if (syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/tmp/m", 0) == 0) got = true, puts("move_mount");
  if (chroot("/tmp") == 0 || syscall(SYS_pivot_root, "/tmp", "/tmp/m") == 0) got = true, puts("root");
  if (!got) puts("contained");
}
