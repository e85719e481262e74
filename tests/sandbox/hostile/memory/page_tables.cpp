// verdicts: AC MLE
// why: a read in every 2 MB costs a page table and no resident memory; counted, or refused before 192 MB of them
// time_limit_s: 3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main() {
  const size_t size = 128ull << 30;
  auto *sparse = (volatile char *)mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (sparse == MAP_FAILED) return puts("contained"), 0;
  madvise((void *)sparse, size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += 2 << 20) (void)sparse[i];
  usleep(200000);
  long kb = 0;
  char line[256];
  for (FILE *status = fopen("/proc/self/status", "r"); status && fgets(line, sizeof line, status);)
    if (!strncmp(line, "VmPTE:", 6)) kb = atol(line + 6);
  if (kb < 192l << 10) puts("contained");
  else printf("%ld kB of page tables\n", kb);
}
