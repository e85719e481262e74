// verdicts: AC
// why: types into a terminal that somebody else reads, its own included, and with the number's upper half set (CVE-2019-10063)
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

int main() {
  bool got = false;
  setsid();
  int ptmx = open("/dev/ptmx", O_RDWR), terminal = -1, unlock = 0, number = 0;
  if (ptmx >= 0 && !ioctl(ptmx, TIOCSPTLCK, &unlock) && !ioctl(ptmx, TIOCGPTN, &number)) {
    char path[32];
    snprintf(path, sizeof path, "/dev/pts/%d", number);
    terminal = open(path, O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
  }
  for (int fd : {0, 1, 2, ptmx, terminal, open("/dev/tty", O_RDWR), open("/dev/console", O_RDWR), open("/dev/tty0", O_RDWR)})
    for (unsigned long upper : {0ul, 1ul << 32, 0xfffffffful << 32}) {
      char byte = 'x', paste[2] = {3, 0};
      if (syscall(SYS_ioctl, fd, upper | TIOCSTI, &byte) == 0) got = true, printf("TIOCSTI on %d\n", fd);
      if (syscall(SYS_ioctl, fd, upper | TIOCLINUX, paste) == 0) got = true, printf("TIOCLINUX on %d\n", fd);
    }
  if (!got) puts("contained");
}
