// verdicts: RE AC
// why: the same with the signal that the limit on file sizes sends, which ends the program
// also: c
#include <fcntl.h>
#include <stdio.h>

int main() {
  int fd = open("/tmp/large", O_RDWR | O_CREAT, 0600);
  if (fallocate(fd, 0, 0, 8l << 30)) puts("contained");
}
