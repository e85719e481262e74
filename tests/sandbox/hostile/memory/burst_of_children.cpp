// verdicts: MLE
// why: a hundred processes of 3 MB each that are there at once, for as long as one of them takes to use 0.3 s of CPU time
// time_limit_s: 10
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <unistd.h>

int main() {
  int here[2], end[2];
  char byte = 0;
  if (pipe(here) || pipe(end)) return 1;
  for (int i = 0; i < 100; i++)
    if (fork() == 0) {
      close(end[1]);
      void *own = mmap(nullptr, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (own == MAP_FAILED) _exit(1);
      std::memset(own, 1, 3 << 20);
      if (write(here[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0) _exit(1);
      _exit(0);
    }
  close(here[1]);
  for (int i = 0; i < 100; i++)
    if (read(here[0], &byte, 1) != 1) return 1;
  for (clock_t begun = clock(); clock() - begun < CLOCKS_PER_SEC * 3 / 10;) continue;
  std::puts("contained");
}
