// verdicts: OLE
// why: floods the stream that nobody compares
// time_limit_s: 3
// also: c
#include <stdio.h>
#include <unistd.h>

int main() {
  static char block[1 << 16];
  puts("contained");
  fflush(stdout);
  for (;;) write(2, block, sizeof block);
}
