// verdicts: TLE
// why: whoever reads the state of its thread wakes it: it always seems to be ready to run, and has hardly used the CPU
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <sys/inotify.h>
#include <unistd.h>

int main() {
  char path[64], event[4096];
  int queue = inotify_init1(0);
  for (const char *name : {"stat", "schedstat", "status"}) {
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", getpid(), name);
    inotify_add_watch(queue, path, IN_OPEN);
  }
  inotify_add_watch(queue, "/proc", IN_OPEN);
  for (;;) {
    if (read(queue, event, sizeof event) < 0) pause();
    timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 100000);
  }
}
