// verdicts: AC
// why: programs that the host lets act as root, and a setuid file of its own
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool got = false;

static void attempt(const char *path, const char *argument, const char *second) {
  if (fork() == 0) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0), dup2(null, 1), dup2(null, 2);
    alarm(1);
    execl(path, path, argument, second, nullptr);
    _exit(126);
  }
  int status;
  wait(&status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) got = true, printf("%s ran\n", path);
}

int main() {
  attempt("/usr/bin/su", "-c", "true"), attempt("/usr/bin/sudo", "-n", "true"), attempt("/usr/bin/pkexec", "true", nullptr);
  attempt("/usr/bin/mount", "--bind", "/usr"), attempt("/usr/bin/umount", "/usr", nullptr), attempt("/usr/bin/newgrp", "root", nullptr);
  attempt("/usr/bin/chsh", "-s", "/bin/sh"), attempt("/usr/bin/passwd", "-d", "root"), attempt("/usr/bin/chfn", "-f", "x");
  attempt("/usr/bin/fusermount3", "-u", "/tmp"), attempt("/usr/bin/at", "now", nullptr), attempt("/usr/bin/crontab", "-l", nullptr);
  uid_t uid = getuid(), real, effective, saved;
  if (uid == 0 || setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 || setresuid(0, 0, 0) == 0) got = true, puts("uid 0");
  getresuid(&real, &effective, &saved);
  if (real != uid || effective != uid || saved != uid) got = true, puts("changed its uid");
  gid_t groups[] = {0};
  if (setgroups(1, groups) == 0) got = true, puts("setgroups");
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) got = true, puts("may gain privileges");
  for (int capability = 0; capability < 41; capability++)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0) got = true, printf("capability %d\n", capability);
  char line[256];
  for (FILE *status = fopen("/proc/self/status", "r"); status && fgets(line, sizeof line, status);) {
    bool capabilities = !strncmp(line, "CapEff:", 7) || !strncmp(line, "CapPrm:", 7) || !strncmp(line, "CapAmb:", 7);
    if (capabilities && strtoull(line + 7, nullptr, 16)) got = true, puts(line);
    if (!strncmp(line, "Seccomp:", 8) && atoi(line + 8) != 2) got = true, puts(line);
  }
  if (!got) puts("contained");
}
