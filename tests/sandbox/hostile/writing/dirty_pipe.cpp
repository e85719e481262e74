// verdicts: AC
// why: splices a page of a read-only file into a pipe and writes behind it (CVE-2022-0847); vmsplice and tee likewise
// tests: 2
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main() {
  char before[64] = "", after[64] = "", block[4096] = "";
  bool got = false;
  for (const char *path : {"/proc/self/exe", "/usr/lib/locale/C.utf8/LC_CTYPE"}) {
    int fd = open(path, O_RDONLY), ends[2], copy[2];
    if (pipe(ends) || pipe(copy)) return 1;
    pread(fd, before, sizeof before, 0);
    for (int i = 0; i < 16; i++) write(ends[1], block, sizeof block);
    for (int i = 0; i < 16; i++) read(ends[0], block, sizeof block);
    off_t at = 0;
    splice(fd, &at, ends[1], nullptr, 1, 0);
    tee(ends[0], copy[1], 1, 0);
    write(ends[1], "overwritten", 11), write(copy[1], "overwritten", 11);
    pread(fd, after, sizeof after, 0);
    if (memcmp(before, after, sizeof before)) got = true, printf("%s changed\n", path);
    iovec part = {block, sizeof block};
    vmsplice(ends[1], &part, 1, 2 /* gift */);
  }
  if (!got) puts("contained");
}
