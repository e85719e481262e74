/* Join the slot's cgroups, become the slot's user, forget the worker's signal handling, exec the isolation backend.
 *
 *   enter UID GID NICE [CGROUP_PROCS_FILE ...] -- COMMAND [ARG ...]
 *
 * UID and GID of 0 mean "stay who you are" (the service is not root). A program of its own rather than a Python
 * preexec_fn, so that the worker can vfork. Exit status 125 and a line on stderr when a step fails: nothing of the
 * program has run then. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "enter: %s: %s\n", what, strerror(errno));
  _exit(125);
}

static int put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = write(fd, text, strlen(text));
  int saved = errno;
  close(fd);
  errno = saved;
  return n < 0 ? -1 : 0;
}

int main(int argc, char **argv) {
  if (argc < 6) return 125;
  uid_t uid = (uid_t)atoi(argv[1]);
  gid_t gid = (gid_t)atoi(argv[2]);
  pid_t parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("PR_SET_PDEATHSIG");
  if (getppid() != parent) _exit(125);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL); /* the worker ignores some; a program must not */
  int i = 4;
  for (; i < argc && strcmp(argv[i], "--"); i++)
    if (put(argv[i], "0")) fail(argv[i]);
  if (++i >= argc) return 125;
  put("/proc/self/oom_score_adj", "1000"); /* when the host runs out, a program goes before its trainer */
  if (nice(atoi(argv[3])) == -1 && errno) errno = 0;
  if (uid) {
    if (setgroups(0, NULL)) fail("setgroups");
    if (setresgid(gid, gid, gid)) fail("setresgid");
    if (setresuid(uid, uid, uid)) fail("setresuid");
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* changing user clears it */
  }
  execv(argv[i], argv + i);
  fail(argv[i]);
}
