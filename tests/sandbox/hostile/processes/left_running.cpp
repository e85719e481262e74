// verdicts: AC TLE
// why: exits with twenty children in a busy loop; they end with it, and count only as far as they ran
// also: c
#include <stdio.h>
#include <unistd.h>

int main() {
  for (int i = 0; i < 20; i++)
    if (fork() == 0)
      for (;;) continue;
  puts("contained");
}
