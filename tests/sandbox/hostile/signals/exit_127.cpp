// verdicts: RE
// why: the exit status of a program that could not be executed
// also: c
#include <stdio.h>

int main() {
  puts("contained");
  return 127;
}
