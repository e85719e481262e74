// verdicts: RE
// why: an exit status that launchers use for their own failures
#include <stdio.h>

int main() {
  puts("contained");
  return 125;
}
