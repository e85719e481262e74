// verdicts: TLE
// memory_limit_mb: 512
// why: forks copies that want to execute the program anew, without a shell, and are refused
// also: c
#include <unistd.h>

int main(int, char **argv) {
  for (;;)
    if (fork() == 0) execv("/proc/self/exe", argv);
}
