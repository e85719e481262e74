// verdicts: AC
// why: makes devices: kernel memory, the root disk, the first loop device, the console
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int main() {
  bool got = false;
  struct { mode_t kind; unsigned major, minor; } devices[] = {{S_IFCHR, 1, 1}, {S_IFCHR, 1, 11}, {S_IFBLK, 254, 0}, {S_IFBLK, 8, 0},
                                                              {S_IFBLK, 7, 0}, {S_IFCHR, 5, 1}, {S_IFCHR, 10, 237}, {S_IFCHR, 0, 0}};
  for (auto &device : devices)
    for (const char *folder : {"/tmp", "/dev", "/dev/shm", "/"}) {
      char path[64];
      snprintf(path, sizeof path, "%s/%u-%u", folder, device.major, device.minor);
      dev_t number = makedev(device.major, device.minor);
      if (mknod(path, device.kind | 0666, number) == 0 || mknodat(AT_FDCWD, path, device.kind | 0666, number) == 0)
        got = true, printf("made %s\n", path);
    }
  if (!got) puts("contained");
}
