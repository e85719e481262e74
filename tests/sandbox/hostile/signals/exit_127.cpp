// verdicts: RE
// why: the exit status of a program that could not be executed
#include <stdio.h>

int main() {
  puts("contained");
  return 127;
}
