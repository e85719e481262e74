// verdicts: AC MLE
// why: unnamed files and long symbolic links hold kernel memory too
// time_limit_s: 5
// also: c
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main() {
  static char target[4000];
  memset(target, 'x', sizeof target - 1);
  int made = 0;
  for (; made < 60000; made++) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/%d", made);
    if (symlink(target, name)) break;
  }
  if (made < 32000) puts("contained");
  else printf("%d links of 4 kB\n", made);
}
