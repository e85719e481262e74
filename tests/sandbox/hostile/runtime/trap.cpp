// verdicts: RE
// why: raises every signal that ends a process, one per child, and SIGSYS, SIGXCPU and SIGXFSZ itself at the end
#include <initializer_list>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  for (int number : {SIGSYS, SIGXCPU, SIGXFSZ, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT})
    if (fork() == 0) raise(number), _exit(0);
    else wait(nullptr);
  raise(SIGSYS);
}
