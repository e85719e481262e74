// verdicts: AC MLE
// why: starts threads until the system refuses, which it must do below 2000; their stacks may exceed the memory limit first
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *wait_forever(void *) {
  for (;;) pause();
}

int main() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  int n = 0;
  pthread_t thread;
  while (n < 2000 && pthread_create(&thread, &small, wait_forever, nullptr) == 0) n++;
  if (n < 2000) puts("contained");
  else printf("%d threads\n", n);
}
