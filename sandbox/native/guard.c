/* Run a command, and end what it leaves behind when it ends, or when whoever started this program dies.
 *
 *   guard COMMAND [ARG ...]
 *
 * bubblewrap's first process waits for its parent before it asks the kernel to die with it. Where the parent is killed
 * before that, it waits for ever. It is in the parent's process group until then, and a group can be killed without
 * knowing who is in it. SIGTERM asks for the same. The exit status is the command's, 128 and the signal's number when a
 * signal ended it, 125 when it could not be started. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "guard: %s: %s\n", what, strerror(errno));
  _exit(125);
}

int main(int argc, char **argv) {
  if (argc < 2) return 125;
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL); /* one that is ignored is not awaited either */
  if (sigprocmask(SIG_SETMASK, &awaited, NULL)) fail("sigprocmask");
  pid_t parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGTERM)) fail("PR_SET_PDEATHSIG");
  if (getppid() != parent) _exit(125);
  pid_t command = fork();
  if (command < 0) fail("fork");
  if (!command) {
    sigemptyset(&awaited);
    sigprocmask(SIG_SETMASK, &awaited, NULL);
    setpgid(0, 0);
    execv(argv[1], argv + 1);
    fail(argv[1]);
  }
  setpgid(command, command); /* whichever of the two comes first */
  syscall(SYS_close_range, 3, ~0u, 0u); /* the sandbox's socket is the sandbox's alone: that it is gone must be seen */
  siginfo_t ended = {0};
  int number = SIGCHLD;
  while (number != SIGTERM && !ended.si_pid) {
    number = sigwaitinfo(&awaited, NULL);
    if (waitid(P_PID, command, &ended, WEXITED | WNOHANG | WNOWAIT)) fail("waitid");
  }
  kill(-command, SIGKILL); /* before the command is reaped: until then its number is nobody else's */
  if (waitid(P_PID, command, &ended, WEXITED)) fail("waitid");
  return ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
}
