// verdicts: OLE
// why: the right output comes first; what follows is not blank
// time_limit_s: 3
// also: c
#include <stdio.h>
#include <string.h>

int main() {
  static char block[1 << 20];
  memset(block, ' ', sizeof block);
  puts("contained");
  for (int i = 0; i < 64; i++) fwrite(block, 1, sizeof block, stdout);
}
