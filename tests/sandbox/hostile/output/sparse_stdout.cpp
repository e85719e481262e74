// verdicts: AC
// why: makes files look huge and seeks in its streams; nothing of that is output
// also: c
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main() {
  signal(SIGXFSZ, SIG_IGN);
  int fd = open("/tmp/sparse", O_RDWR | O_CREAT, 0600);
  ftruncate(fd, 200l << 20);
  for (int stream = 0; stream < 3; stream++) lseek(stream, 1l << 40, SEEK_SET);
  puts("contained");
}
