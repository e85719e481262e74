// verdicts: MLE AC
// why: 256 MB for an instant, between two looks round, then a clean exit; counted, or refused (the program says so)
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main() {
  const size_t size = 256u << 20;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return puts("contained"), 0;
  memset(memory, 1, size), munmap(memory, size);
  puts("had 256 MB");
}
