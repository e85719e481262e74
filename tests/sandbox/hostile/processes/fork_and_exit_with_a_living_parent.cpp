// verdicts: AC TLE
// why: the chain runs on while the first process lives; it ends at the limit on processes (its dead count) or on CPU time
// also: c
#include <stdio.h>
#include <unistd.h>

int main() {
  if (fork() == 0)
    for (;;)
      if (fork() != 0) _exit(0);
  usleep(300000);
  puts("contained");
}
