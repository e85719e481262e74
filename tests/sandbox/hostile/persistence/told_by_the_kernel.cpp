// verdicts: AC
// why: what the kernel keeps about files that all programs share: watches, cached pages, inodes' flags
// tests: 2
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

int main() {
  int told = 0;
  auto check = [&](const char *what, bool possible) {
    if (possible) printf("%s\n", what), told = 1;
  };
  check("inotify", inotify_init1(0) >= 0);
  for (const char *path : {"/box/main", "/proc/self/exe", "/tmp", "/dev/shm"}) {
    int fd = open(path, O_RDONLY), flags = FS_NOATIME_FL | FS_NODUMP_FL;
    struct fsxattr attributes = {};
    char byte;
    struct iovec into = {&byte, 1};
    if (fd < 0) continue;
    check("fadvise", posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    check("readahead", readahead(fd, 0, 4096) == 0);
    check("RWF_NOWAIT", preadv2(fd, &into, 1, 0, RWF_NOWAIT) >= 0);
    void *mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) {
      unsigned char there;
      check("mincore", mincore(mapped, 4096, &there) == 0);
      for (int advice : {MADV_WILLNEED, 20, 21, 22}) check("madvise", madvise(mapped, 4096, advice) == 0);
    }
    check("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
    check("FS_IOC_FSSETXATTR", ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0);
  }
  if (!told) puts("contained");
}
