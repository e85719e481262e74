// verdicts: AC
// why: the same in C, which shares no parent image with the runner: open and openat, and races against execve are its own
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (const char *name : {"environ", "mem", "maps", "fd/3", "fd/0", "root/tmp", "cwd/x", "exe", "auxv", "pagemap", "ns/pid"}) {
    char path[64];
    snprintf(path, sizeof path, "/proc/1/%s", name);
    for (int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
      int fd = open(path, flags);
      char byte;
      if (fd >= 0 && read(fd, &byte, 1) == 1) got = true, printf("%s opens with %d\n", path, flags);
      if (fd >= 0) close(fd);
    }
  }
  char byte;
  iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
  if (process_vm_readv(1, &here, 1, &there, 1, 0) == 1) got = true, puts("process_vm_readv");
  if (!got) puts("contained");
}
