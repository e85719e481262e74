// verdicts: OLE
// why: prints without end, in single system calls of 1 MB, from four processes
// time_limit_s: 3
// also: c
#include <unistd.h>

int main() {
  static char block[1 << 20];
  fork(), fork();
  for (;;) write(1, block, sizeof block);
}
