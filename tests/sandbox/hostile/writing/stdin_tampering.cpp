// verdicts: AC
// why: the same in C, and the input's place in the file is moved
// tests: 3
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main() {
  char line[8] = "";
  read(0, line, sizeof line - 1);
  bool right = strlen(line) == 2 && line[0] >= '0' && line[0] <= '2' && line[1] == '\n';
  pwrite(0, "9\n9\n9\n", 6, 0);
  void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0);
  if (shared != MAP_FAILED) memset(shared, '9', 2);
  linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, "/tmp/kept", AT_SYMLINK_FOLLOW);
  ftruncate(0, 100 << 20);
  lseek(0, 1 << 20, SEEK_SET);
  puts(right ? "contained" : line);
}
