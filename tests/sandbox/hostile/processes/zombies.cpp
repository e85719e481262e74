// verdicts: AC
// why: never waits for its dead children; they must count as processes until the test ends, and be gone afterwards
// also: c
#include <stdio.h>
#include <unistd.h>

int main() {
  int n = 0;
  for (; n < 3000; n++) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0) break;
  }
  if (n < 3000) puts("contained");
  else printf("%d zombies\n", n);
}
