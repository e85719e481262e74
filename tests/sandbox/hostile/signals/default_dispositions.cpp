// verdicts: AC
// why: what the judge itself ignores or blocks must not be inherited, or a program would survive its own SIGTERM
#include <signal.h>
#include <stdio.h>

int main() {
  bool got = false;
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < 65; number++) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) got = true, printf("%d is not at its default\n", number);
    if (sigismember(&blocked, number) == 1) got = true, printf("%d is blocked\n", number);
  }
  if (!got) puts("contained");
}
