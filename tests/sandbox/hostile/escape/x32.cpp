// verdicts: AC RE
// why: system calls of another table: numbers with the x32 bit; refused, or the child that made one is killed
#include <errno.h>
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (long call : {39l /* getpid */, 272l /* unshare */, 101l /* ptrace */, 41l /* socket */, 521l /* x32 ptrace */, 519l}) {
    if (fork() == 0) _exit(syscall(0x40000000 | call, 2, 3, 0) >= 0 || (errno != ENOSYS && errno != EPERM) ? 7 : 0);
    int status;
    wait(&status);
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
      got = true, printf("call %ld: status %x\n", call, status);
  }
  if (!got) puts("contained");
}
