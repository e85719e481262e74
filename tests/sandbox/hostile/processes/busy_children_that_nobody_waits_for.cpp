// verdicts: TLE
// why: with SIGCHLD ignored the kernel reaps a child and drops its CPU time; forty of 25 ms, each shorter than a look round
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main() {
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 40; i++) {
    if (fork() == 0) {
      while (clock() < CLOCKS_PER_SEC / 40) continue;
      _exit(0);
    }
    wait(nullptr);
  }
  puts("contained");
}
