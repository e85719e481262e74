// verdicts: RE
// why: SIGSEGV after the right output
// also: c
#include <stdio.h>

int main() {
  puts("contained");
  fflush(stdout);
  *(volatile int *)8 = 1;
}
