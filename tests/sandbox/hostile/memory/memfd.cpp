// verdicts: AC MLE
// why: memory in anonymous files, which no rlimit counts: refused, or counted
// time_limit_s: 2
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  static char block[1 << 20];
  memset(block, 1, sizeof block);
  long written = 0;
  int fds[] = {(int)syscall(SYS_memfd_create, "m", 0), (int)syscall(SYS_memfd_create, "m", 4 /* huge pages */),
               (int)syscall(447 /* memfd_secret */, 0)};
  for (int fd : fds)
    for (int i = 0; fd >= 0 && i < 256; i++) {
      ssize_t n = write(fd, block, sizeof block);
      if (n <= 0) break;
      written += n;
    }
  usleep(200000);
  if (written < 128l << 20) puts("contained");
  else printf("%ld bytes\n", written);
}
