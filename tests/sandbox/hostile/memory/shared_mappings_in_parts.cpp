// verdicts: MLE
// why: each child fills 32 MB of shared memory that only its dead siblings' parent has mapped; no address space is large
// time_limit_s: 2
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  for (int depth = 0; depth < 16; depth++) {
    const size_t part = 32u << 20;
    void *shared = mmap(nullptr, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    memset(shared, 1, part);
    if (fork()) {
      wait(nullptr);
      return 0;
    }
    munmap(shared, part);
  }
  sleep(60); /* where memory is looked at now and then, one of those looks finds it */
}
