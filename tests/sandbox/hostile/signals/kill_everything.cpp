// verdicts: AC
// why: kill -9 -1 reaches all that it may signal; the runner is not among them
// tests: 2
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main() {
  for (int number : {SIGSTOP, SIGTERM, SIGINT, SIGHUP, SIGKILL}) kill(-1, number), kill(-getpgid(1), number);
  puts("contained");
}
