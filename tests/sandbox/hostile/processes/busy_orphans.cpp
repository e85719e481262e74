// verdicts: TLE
// why: the CPU time is burnt by grandchildren whose parents are dead
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main() {
  for (int i = 0; i < 8; i++)
    if (fork() == 0) {
      if (fork() == 0)
        while (clock() < CLOCKS_PER_SEC / 8) continue;
      _exit(0);
    }
  while (wait(nullptr) > 0) continue;
  usleep(1200000);
  puts("contained");
}
