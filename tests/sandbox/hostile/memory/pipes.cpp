// verdicts: AC MLE
// why: fills as many pipes as it gets, in many processes; counted, or refused before 192 MB (the limit is 64)
// time_limit_s: 3
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main() {
  static char block[1 << 16];
  memset(block, 1, sizeof block);
  auto *total = (volatile long *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int child = 0; child < 16; child++)
    if (fork() == 0) {
      int ends[2];
      while (*total < 256l << 20 && pipe2(ends, O_NONBLOCK) == 0) {
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        for (ssize_t n; (n = write(ends[1], block, sizeof block)) > 0;) __sync_fetch_and_add(total, n);
      }
      pause();
    }
  usleep(700000);
  if (*total < 192l << 20) puts("contained");
  else printf("%ld bytes\n", *total);
}
