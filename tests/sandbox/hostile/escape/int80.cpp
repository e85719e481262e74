// verdicts: RE
// why: the 32-bit entry, where the same numbers mean other calls; the process is killed
// also: c
#include <stdio.h>

int main() {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(359 /* socket */), "b"(16 /* netlink */), "c"(3), "d"(0) : "memory");
  printf("%ld\n", result);
}
