// verdicts: TLE
// why: the CPU time is the kernel's
// time_limit_s: 0.3
// also: c
#include <fcntl.h>
#include <unistd.h>

int main() {
  static char block[1 << 16];
  for (int fd = open("/dev/urandom", O_RDONLY);;) read(fd, block, sizeof block);
}
