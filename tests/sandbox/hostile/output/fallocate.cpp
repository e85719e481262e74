// verdicts: AC MLE
// why: reserves 8 GB of file without writing a byte; refused, or counted
// also: c
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main() {
  signal(SIGXFSZ, SIG_IGN);
  long reserved = 0;
  for (int i = 0; i < 32; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s/%d", i % 2 ? "/tmp" : "/dev/shm", i);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    for (long size = 8l << 30; size >= 1 << 20; size /= 2)
      if (fallocate(fd, 0, 0, size) == 0) reserved += size;
  }
  for (int fd = 0; fd < 3; fd++) fallocate(fd, 0, 0, 8l << 30), ftruncate(fd, 8l << 30);
  if (reserved < 192l << 20) puts("contained");
  else printf("%ld bytes\n", reserved);
}
