// verdicts: TLE
// memory_limit_mb: 512
// why: a bomb whose every process opens a session of its own, so that no process group reaches them all
// also: c
#include <unistd.h>

int main() {
  for (;;) {
    if (fork() == 0) setsid();
    if (vfork() == 0) _exit(0);
  }
}
