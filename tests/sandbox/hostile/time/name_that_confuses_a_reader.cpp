// verdicts: TLE
// why: burns CPU time in processes whose name looks like the rest of a line of /proc/PID/stat
// time_limit_s: 0.3
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main() {
  prctl(PR_SET_NAME, ") Z 1 0 0 0\n(");
  for (int i = 0; i < 4; i++)
    if (fork() == 0) {
      while (clock() < CLOCKS_PER_SEC / 4) continue;
      _exit(0);
    }
  while (wait(nullptr) > 0) continue;
  puts("contained");
}
