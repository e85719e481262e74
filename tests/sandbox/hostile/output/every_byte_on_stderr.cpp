// verdicts: AC
// why: a right answer beside every byte value on stderr
// also: c
#include <stdio.h>

int main() {
  for (int byte = 0; byte < 256; byte++) putc(byte, stderr);
  puts("contained");
}
