// verdicts: MLE AC
// why: shared anonymous memory, filled by one child after another, so that none has all of it resident; counted or refused
// time_limit_s: 2
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  const size_t part = 32u << 20;
  char *shared = (char *)mmap(nullptr, 8 * part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return puts("contained"), 0;
  for (int i = 0; i < 8; i++) {
    if (fork() == 0) {
      memset(shared + i * part, 1, part);
      _exit(0);
    }
    wait(nullptr);
  }
  sleep(60); /* where memory is looked at now and then, one of those looks finds it */
  puts("had 256 MB");
}
