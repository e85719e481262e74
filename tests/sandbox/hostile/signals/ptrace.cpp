// verdicts: AC
// why: attaches to process 1 and to the parent, reads and writes their memory
#include <initializer_list>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (pid_t target : {1, (int)getppid()}) {
    if (ptrace(PTRACE_ATTACH, target, 0, 0) == 0 || ptrace(PTRACE_SEIZE, target, 0, 0) == 0) got = true, puts("attached");
    if (ptrace(PTRACE_POKEUSER, target, 0, 0) == 0 || ptrace(PTRACE_GETREGSET, target, 1, 0) == 0) got = true, puts("registers");
    char block[64];
    for (unsigned long at : {0x400000ul, 0x401000ul, 0x7ffff7ff0000ul}) {
      iovec here = {block, sizeof block}, there = {(void *)at, sizeof block};
      if (process_vm_readv(target, &here, 1, &there, 1, 0) > 0) got = true, puts("read");
      if (process_vm_writev(target, &here, 1, &there, 1, 0) > 0) got = true, puts("written");
    }
  }
  if (!got) puts("contained");
}
