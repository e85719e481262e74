// verdicts: AC
// why: rlimits, priority, scheduling, affinity, memory placement and advice of process 1
// tests: 2
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  rlimit none = {0, 0};
  for (int what = 0; what < 16; what++)
    if (syscall(SYS_prlimit64, 1, what, &none, nullptr) == 0) got = true, printf("rlimit %d\n", what);
  if (syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, nullptr, &none) == 0) got = true, puts("rlimit read");
  sched_param idle = {0};
  if (sched_setscheduler(1, SCHED_IDLE, &idle) == 0 || sched_setparam(1, &idle) == 0) got = true, puts("scheduler");
  struct { unsigned size, policy; unsigned long flags; int nice; unsigned rest[7]; } attributes = {48, 5, 0, 19, {}};
  if (syscall(SYS_sched_setattr, 1, &attributes, 0) == 0) got = true, puts("sched_setattr");
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (sched_setaffinity(1, sizeof one, &one) == 0) got = true, puts("affinity");
  if (setpriority(PRIO_PROCESS, 1, 19) == 0 || setpriority(PRIO_USER, 0, 19) == 0 || setpriority(PRIO_PGRP, 0, 19) == 0)
    got = true, puts("priority");
  if (syscall(SYS_ioprio_set, 1, 1, 3 << 13) == 0) got = true, puts("io priority");
  unsigned long nodes = 1;
  if (syscall(SYS_migrate_pages, 1, 8, &nodes, &nodes) >= 0 || syscall(SYS_move_pages, 1, 0, 0, 0, 0, 0) == 0) got = true, puts("pages");
  if (syscall(SYS_kcmp, 1, getpid(), 0, 0, 0) >= 0) got = true, puts("kcmp");
  int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  if (syscall(440 /* process_madvise */, pidfd, nullptr, 0, 21, 0) >= 0 || syscall(448 /* process_mrelease */, pidfd, 0) >= 0)
    got = true, puts("advice");
  if (!got) puts("contained");
}
