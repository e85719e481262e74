// verdicts: AC
// why: changes the file that it is executed from, by every name it has
// tests: 2
#include <fcntl.h>
#include <initializer_list>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int, char **argv) {
  bool got = false;
  char real[PATH_MAX] = "";
  readlink("/proc/self/exe", real, sizeof real - 1);
  for (const char *path : {(const char *)real, (const char *)argv[0], "/proc/self/exe"}) {
    int fd = open(path, O_RDONLY);
    char again[64];
    snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
    if (open(path, O_WRONLY) >= 0 || open(again, O_RDWR) >= 0 || !truncate(path, 0) || !chmod(path, 0777) || !fchmod(fd, 0777))
      got = true, puts("opened, truncated or changed");
    if (!unlink(path) || !rename(path, "/tmp/moved") || !link(path, "/tmp/linked")) got = true, puts("moved");
    void *shared = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED && !mprotect(shared, 4096, PROT_READ | PROT_WRITE)) got = true, puts("mapped for writing");
    close(fd);
  }
  if (!got) puts("contained");
}
