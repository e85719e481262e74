// verdicts: RE
// why: dies of SIGSEGV with a large core, after raising the limit on core files as far as it goes; no core is written
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main() {
  rlimit core;
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = core.rlim_max;
  setrlimit(RLIMIT_CORE, &core);
  int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);
  if (fd >= 0 && write(fd, "/tmp/core", 9) > 0) exit(0);
  memset(malloc(16 << 20), 1, 16 << 20);
  raise(SIGSEGV);
}
