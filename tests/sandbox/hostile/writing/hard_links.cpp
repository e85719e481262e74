// verdicts: AC
// why: hard links and renames across mounts, to carry a file in or out
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main() {
  bool got = false;
  close(open("/tmp/own", O_WRONLY | O_CREAT, 0777));
  for (const char *path : {"/usr/bin/su", "/usr/bin/env", "/proc/self/exe", "/proc/1/exe", "/dev/null"})
    if (!link(path, "/tmp/linked") || !linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/followed", AT_SYMLINK_FOLLOW) || !rename(path, "/tmp/moved"))
      got = true, puts(path);
  for (const char *path : {"/usr/bin/own", "/box/own", "/sandbox/own", "/own", "/dev/own"})
    if (!rename("/tmp/own", path) || !link("/tmp/own", path)) got = true, puts(path);
  if (!got) puts("contained");
}
