// verdicts: TLE
// memory_limit_mb: 512
// why: forks without end in C, where a refused fork changes nothing; ends at the CPU limit
// also: c
#include <unistd.h>

int main() {
  for (;;) fork();
}
