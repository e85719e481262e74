// verdicts: AC RE TLE MLE OLE WA
// why: every system call number with arguments that are at hand, each in a child; anything may happen but an escape or IE
// time_limit_s: 2
// tests: 2
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  static char block[1 << 16] = "/tmp/x";
  for (long call = 0; call < 470; call++)
    for (long first : {0l, 1l, 3l, -1l, (long)block}) {
      if (fork() == 0) {
        for (int fd : {0, 1, 2}) close(fd);
        alarm(1);
        ualarm(2000, 0);
        syscall(call, first, block, 64l, block + 4096, block + 8192, 1l);
        _exit(0);
      }
      while (wait(nullptr) > 0) continue;
    }
  puts("contained");
}
