// verdicts: AC
// why: overwrites its own code through /proc/self/mem, which is its right and must not reach the file or the next test
// tests: 2
// also: c
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int answer() {
  __asm__ volatile("");
  return 42;
}

int main() {
  int (*volatile call)() = answer;
  if (call() != 42) return puts("changed by the last test"), 0;
  char traps[8] = {};
  __builtin_memset(traps, 0xcc, sizeof traps);
  int fd = open("/proc/self/mem", O_RDWR);
  pwrite(fd, traps, sizeof traps, (off_t)(void *)call);
  puts("contained");
}
