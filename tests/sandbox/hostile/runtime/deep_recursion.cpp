// verdicts: RE MLE
// why: recursion without end: the stack's limit, or the memory's
// time_limit_s: 2
// also: c
#include <stdio.h>

__attribute__((noinline)) static int down(int n) {
  volatile char frame[4096];
  frame[n % 4096] = 1;
  return down(n + 1) + frame[0];
}

int main() { printf("%d\n", down(0)); }
