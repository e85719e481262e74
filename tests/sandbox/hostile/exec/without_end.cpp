// verdicts: TLE
// tried_exec: yes
// why: keeps process 1 busy with refusing, which must not keep it from watching the time
#include <unistd.h>

int main() {
  char *argv[] = {(char *)"/bin/sh", nullptr};
  for (int i = 0; i < 20; i++)
    if (fork() == 0) break;
  for (;;) execve(argv[0], argv, argv + 1);
}
