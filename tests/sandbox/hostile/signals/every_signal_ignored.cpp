// verdicts: TLE
// why: ignores and blocks every signal that can be, SIGXCPU included, and burns CPU time
// time_limit_s: 0.3
#include <signal.h>

int main() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  for (;;) continue;
}
