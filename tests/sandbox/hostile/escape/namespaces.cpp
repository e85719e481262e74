// verdicts: AC
// why: unshare, clone and clone3 with every namespace, and setns to every one that /proc offers
#include <fcntl.h>
#include <initializer_list>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (unsigned long flag : {0x80ul, 0x20000ul, 0x2000000ul, 0x4000000ul, 0x8000000ul, 0x10000000ul, 0x20000000ul, 0x40000000ul}) {
    if (syscall(SYS_unshare, flag) == 0) got = true, printf("unshare %lx\n", flag);
    for (unsigned long upper : {0ul, 1ul << 32}) {
      if (flag == 0x80) continue; /* part of the exit signal for clone */
      long child = syscall(SYS_clone, upper | flag | SIGCHLD, 0, 0, 0, 0);
      if (child == 0) _exit(0);
      if (child > 0) got = true, printf("clone %lx\n", flag);
      child = syscall(SYS_clone, upper | flag | 0x10000000ul | SIGCHLD, 0, 0, 0, 0);
      if (child == 0) _exit(0);
      if (child > 0) got = true, printf("clone %lx with a user namespace\n", flag);
    }
    struct clone_args arguments = {};
    arguments.flags = flag, arguments.exit_signal = SIGCHLD;
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) _exit(0);
    if (child > 0) got = true, printf("clone3 %lx\n", flag);
  }
  for (const char *name : {"mnt", "pid", "net", "user", "uts", "ipc", "cgroup", "time", "pid_for_children"})
    for (const char *process : {"1", "self"}) {
      char path[64];
      snprintf(path, sizeof path, "/proc/%s/ns/%s", process, name);
      if (setns(open(path, O_RDONLY), 0) == 0) got = true, printf("setns %s\n", path);
    }
  if (setns((int)syscall(SYS_pidfd_open, 1, 0), 0x7e020000) == 0) got = true, puts("setns of a pidfd");
  if (!got) puts("contained");
}
