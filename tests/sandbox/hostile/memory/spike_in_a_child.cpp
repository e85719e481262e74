// verdicts: MLE AC
// why: the instant of 256 MB is a child's; counted, or refused (the program says so)
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  if (fork() == 0) {
    const size_t size = 256u << 20;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(7);
    memset(memory, 1, size);
    _exit(0);
  }
  int status;
  wait(&status);
  puts(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "contained" : "had 256 MB");
}
