// verdicts: AC
// why: has the kernel signal process 1 on its behalf: F_SETOWN with SIGKILL, timers, and a parent-death signal
// tests: 2
#include <fcntl.h>
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int main() {
  int ends[2];
  if (pipe(ends)) return 1;
  for (int fd : {ends[0], 0, 1, 2}) fcntl(fd, F_SETOWN, 1), fcntl(fd, F_SETSIG, SIGKILL), fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
  write(ends[1], "x", 1);
  sigevent event = {};
  event.sigev_notify = 4 /* SIGEV_THREAD_ID */, event.sigev_signo = SIGKILL, event._sigev_un._tid = 1;
  timer_t timer;
  itimerspec soon = {{0, 0}, {0, 1000000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &soon, nullptr);
  usleep(20000);
  for (int fd : {1, 2}) fcntl(fd, F_SETFL, O_WRONLY);
  puts("contained");
}
