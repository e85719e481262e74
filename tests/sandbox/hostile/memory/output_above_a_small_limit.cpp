// verdicts: OLE MLE WA
// why: what is printed is kept outside of the program; that must not make the sandbox exceed the program's memory limit
// memory_limit_mb: 16
// time_limit_s: 2
// tests: 2
// also: c
#include <string.h>
#include <unistd.h>

int main() {
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 15 * 16; i++) write(1, block, sizeof block); /* 15 MB */
}
