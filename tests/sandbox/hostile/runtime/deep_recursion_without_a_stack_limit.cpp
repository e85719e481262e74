// verdicts: RE MLE
// why: recursion without end, once the stack's soft limit is raised to the hard one: the memory's, or where the stack meets the heap
// time_limit_s: 2
#include <stdio.h>
#include <sys/resource.h>

__attribute__((noinline)) static int down(int n) {
  volatile char frame[4096];
  frame[n % 4096] = 1;
  return down(n + 1) + frame[0];
}

int main() {
  rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack)) return 0;
  stack.rlim_cur = stack.rlim_max;
  if (setrlimit(RLIMIT_STACK, &stack)) return 0;
  printf("%d\n", down(0));
}
