// verdicts: TLE
// memory_limit_mb: 512
// why: forks without end in C, where a refused fork changes nothing; ends at the CPU limit
#include <unistd.h>

int main() {
  for (;;) fork();
}
