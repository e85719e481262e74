// verdicts: AC
// why: every signal to process 1 and to the parent, by every system call that sends one
// tests: 2
#include <initializer_list>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  for (int number = 1; number <= 64; number++)
    for (pid_t target : {1, (int)getppid()}) {
      kill(target, number);
      syscall(SYS_tkill, target, number);
      syscall(SYS_tgkill, target, target, number);
      siginfo_t info = {};
      info.si_signo = number, info.si_code = SI_QUEUE;
      syscall(SYS_rt_sigqueueinfo, target, number, &info);
      syscall(SYS_rt_tgsigqueueinfo, target, target, number, &info);
      syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0);
    }
  puts("contained");
}
