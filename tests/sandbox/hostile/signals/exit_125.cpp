// verdicts: RE
// why: an exit status that launchers use for their own failures
// also: c
#include <stdio.h>

int main() {
  puts("contained");
  return 125;
}
