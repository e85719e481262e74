// verdicts: AC
// why: takes the runner's descriptors, its socket to the judge among them
#include <initializer_list>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (pid_t target : {1, (int)getppid()}) {
    int pidfd = (int)syscall(SYS_pidfd_open, target, 0);
    for (int fd = 0; fd < 64; fd++)
      if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0) got = true, printf("took %d of %d\n", fd, target);
  }
  if (!got) puts("contained");
}
