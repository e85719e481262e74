// verdicts: AC
// why: a chain of processes that each start the next and exit; a killer that walks a list of them always comes late
// also: c
#include <stdio.h>
#include <unistd.h>

int main() {
  puts("contained");
  fflush(stdout);
  for (;;)
    if (fork() != 0) _exit(0);
}
