// verdicts: MLE RE
// why: the same by malloc; where memory is refused instead of counted, the null pointer is the program's own crash
// time_limit_s: 3
// also: c
#include <stdlib.h>
#include <string.h>

int main() {
  for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}
