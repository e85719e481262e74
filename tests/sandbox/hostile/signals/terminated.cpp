// verdicts: RE
// why: dies of SIGTERM by its own hand, after the right output
// also: c
#include <signal.h>
#include <stdio.h>

int main() {
  puts("contained");
  fflush(stdout);
  raise(SIGTERM), raise(SIGINT);
}
