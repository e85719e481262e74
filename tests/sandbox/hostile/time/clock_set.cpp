// verdicts: AC
// why: sets clocks, and takes real-time priority
#include <initializer_list>
#include <sched.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

int main() {
  bool got = false;
  timespec zero = {0, 0};
  timeval then = {0, 0};
  timex change = {};
  change.modes = ADJ_OFFSET;
  for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_TAI})
    if (clock_settime(clock, &zero) == 0) got = true, puts("clock_settime");
  if (settimeofday(&then, nullptr) == 0 || adjtimex(&change) >= 0 || adjtime(&then, nullptr) == 0) got = true, puts("settimeofday");
  sched_param high = {50};
  if (sched_setscheduler(0, SCHED_FIFO, &high) == 0 || sched_setscheduler(0, SCHED_RR, &high) == 0) got = true, puts("real-time");
  if (!got) puts("contained");
}
