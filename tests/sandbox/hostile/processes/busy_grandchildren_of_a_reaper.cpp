// verdicts: TLE
// portable_verdicts: AC
// why: a subreaper that ignores SIGCHLD adopts the orphans, so that their CPU time never reaches process 1; without a cgroup only the wall limit holds them
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 40; i++) {
    if (fork() == 0) {
      if (fork() == 0)
        while (clock() < CLOCKS_PER_SEC / 40) continue;
      _exit(0);
    }
    while (wait(nullptr) > 0) continue;
  }
  puts("contained");
}
