// verdicts: TLE
// why: who opens a file that somebody holds a lease on waits for it, up to 45 s: the file is the one that tells of this process
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

int main() {
  signal(SIGIO, SIG_IGN);
  fcntl(open("/proc/self/stat", O_RDONLY), F_SETLEASE, F_WRLCK);
  for (;;) pause();
}
