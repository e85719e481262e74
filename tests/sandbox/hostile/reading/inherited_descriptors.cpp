// verdicts: AC
// why: nothing but the three streams is open, and none of them leads anywhere else
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (int fd = 3; fd < 4096; fd++)
    if (fcntl(fd, F_GETFD) >= 0) got = true, printf("%d is open\n", fd);
  for (int fd = 0; fd < 3; fd++) {
    struct stat s;
    if (fstat(fd, &s)) continue;
    if (S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode) || S_ISSOCK(s.st_mode)) got = true, printf("%d is no file or pipe\n", fd);
    if (openat(fd, "..", O_RDONLY) >= 0) got = true, printf("%d leads to a folder\n", fd);
  }
  if (!got) puts("contained");
}
