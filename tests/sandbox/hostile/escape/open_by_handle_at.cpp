// verdicts: AC
// why: a file handle reaches a file by its inode, whatever is mounted where (the way out of early containers)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (const char *path : {"/", "/usr", "/usr/bin/env", "/box", "/tmp", "/proc/self/exe"}) {
    auto *handle = (file_handle *)calloc(1, sizeof(file_handle) + 128);
    handle->handle_bytes = 128;
    int mount;
    int made = name_to_handle_at(AT_FDCWD, path, handle, &mount, AT_SYMLINK_FOLLOW);
    if (made != 0) handle->handle_bytes = 8, handle->handle_type = 1, memset(handle->f_handle, 0, 8), handle->f_handle[0] = 2;
    int at = open(path, O_RDONLY);
    if (open_by_handle_at(at, handle, O_RDONLY) >= 0) got = true, printf("opened %s\n", path);
  }
  if (!got) puts("contained");
}
