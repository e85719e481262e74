// verdicts: AC
// why: twenty daemons hold stdout and stderr open and write to them now and then
// time_limit_s: 0.2
// also: c
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main() {
  puts("contained");
  fflush(stdout);
  signal(SIGHUP, SIG_IGN), signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < 20; i++)
    if (fork() == 0) {
      setsid();
      sleep(1);
      for (;;) usleep(100000), write(1, "late\n", 5), write(2, "late\n", 5);
    }
}
