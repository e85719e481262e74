// verdicts: TLE
// memory_limit_mb: 256
// why: a hundred threads wake at once on one core and sleep again: each waits for all others, and together they hardly run
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

void* nap(void*) {
  for (;;) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    timespec then = {now.tv_sec, (now.tv_nsec / 100000000 + 1) * 100000000};
    if (then.tv_nsec >= 1000000000) then.tv_sec++, then.tv_nsec -= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, nullptr);
  }
}

int main() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < 100; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, nap, nullptr)) return 1;
  }
  pause();
}
