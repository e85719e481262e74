// verdicts: AC
// why: the same without an interpreter between: stat, open, readlink, access and execve of paths outside
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (const char *path : {"@repository@", "@repository@/sandbox", "@repository@/sandbox/api.py", "@state@"}) {
    struct stat s;
    char target[256];
    if (!stat(path, &s) || open(path, O_RDONLY) >= 0 || open(path, O_PATH) >= 0 || !access(path, F_OK) ||
        readlink(path, target, sizeof target) >= 0)
      got = true, printf("%s is there\n", path);
  }
  if (!got) puts("contained");
}
