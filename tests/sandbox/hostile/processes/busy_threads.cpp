// verdicts: TLE
// why: four threads burn 0.25 s each; a limit on the main thread alone would not see them
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *burn(void *) {
  timespec used;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  while (used.tv_nsec < 250000000);
  return nullptr;
}

int main() {
  pthread_t threads[4];
  for (auto &thread : threads) pthread_create(&thread, nullptr, burn, nullptr);
  for (auto &thread : threads) pthread_join(thread, nullptr);
  puts("contained");
}
