// verdicts: TLE
// why: the CPU time is burnt by grandchildren whose parents are dead
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main() {
  int ends[2];
  if (pipe(ends)) return 1;
  for (int i = 0; i < 8; i++)
    if (fork() == 0) {
      if (fork() == 0)
        while (clock() < CLOCKS_PER_SEC / 8) continue;
      _exit(0);
    }
  while (wait(nullptr) > 0) continue;
  close(ends[1]);
  char nothing;
  while (read(ends[0], &nothing, 1) > 0) continue; /* until the last of them is gone */
  puts("contained");
}
