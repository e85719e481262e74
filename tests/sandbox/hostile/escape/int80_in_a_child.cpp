// verdicts: AC
// why: no 32-bit call of any use comes back with success: getpid, socket, ptrace, mount, clone with namespaces, unshare
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (int call : {20, 359, 26, 21, 120, 310}) {
    if (fork() == 0) {
      long result;
      __asm__ volatile("int $0x80" : "=a"(result) : "a"(call), "b"(0x10000000), "c"(0), "d"(0), "S"(0), "D"(0) : "memory");
      _exit(7);
    }
    int status;
    wait(&status);
    if (!WIFSIGNALED(status)) got = true, printf("call %d: status %x\n", call, status);
  }
  if (!got) puts("contained");
}
