// verdicts: AC MLE
// why: files outlive the process that the kernel kills for them; what is left must not take the sandbox with it
// memory_limit_mb: 16
// time_limit_s: 2
// tests: 2
#include <fcntl.h>
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main() {
  static char block[1 << 16];
  memset(block, 1, sizeof block);
  signal(SIGXFSZ, SIG_IGN);
  long written = 0;
  for (const char *path : {"/tmp/a", "/tmp/b", "/dev/shm/a"}) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    for (int i = 0; fd >= 0 && i < 4096; i++) {
      ssize_t n = write(fd, block, sizeof block);
      if (n <= 0) break;
      written += n;
    }
  }
  if (written <= 80l << 20) puts("contained");
  else printf("%ld bytes\n", written);
}
