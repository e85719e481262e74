// verdicts: AC
// why: a right answer beside every byte value on stderr
#include <stdio.h>

int main() {
  for (int byte = 0; byte < 256; byte++) putc(byte, stderr);
  puts("contained");
}
