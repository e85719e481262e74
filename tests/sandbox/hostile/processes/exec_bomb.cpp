// verdicts: TLE
// memory_limit_mb: 512
// why: forks copies that execute the program anew, without a shell
#include <unistd.h>

int main(int, char **argv) {
  for (;;)
    if (fork() == 0) execv("/proc/self/exe", argv);
}
