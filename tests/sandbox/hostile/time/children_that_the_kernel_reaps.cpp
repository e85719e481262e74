// verdicts: TLE
// why: children that are gone before anybody can ask what they have used, one after another, and two at once
// time_limit_s: 1
#include <csignal>
#include <cstdio>
#include <ctime>
#include <unistd.h>

int main() {
  signal(SIGCHLD, SIG_IGN);
  for (int round = 0; round < 12; round++) {
    pid_t children[2];
    for (pid_t &child : children)
      if (!(child = fork())) {
        clock_t from = clock();
        while (clock() - from < CLOCKS_PER_SEC / 4) continue;
        _exit(0);
      }
    for (pid_t child : children)
      while (kill(child, 0) == 0) usleep(1000);
  }
  puts("contained");
}
