// verdicts: MLE
// why: fifty processes with 30,000 mappings each: none has memory of its own, but the kernel keeps 375 MB about them
// time_limit_s: 10
#include <cstdio>
#include <ctime>
#include <sys/mman.h>
#include <unistd.h>

int main() {
  for (int i = 0; i < 30000; i++)
    mmap(nullptr, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 50; i++)
    if (fork() == 0) pause();
  for (clock_t begun = clock(); clock() - begun < 3 * CLOCKS_PER_SEC;) continue;
  std::puts("contained");
}
