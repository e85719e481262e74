// verdicts: AC
// why: lets anybody trace it, keeps capabilities, replaces its mm's fields, allows itself what the filter forbids
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  prctl(PR_SET_PTRACER, -1l), prctl(PR_SET_KEEPCAPS, 1), prctl(PR_SET_SECUREBITS, 0xff), prctl(PR_SET_DUMPABLE, 1);
  if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) got = true, puts("may gain privileges");
  if (prctl(PR_SET_SECCOMP, 0) == 0) got = true, puts("the filter is off");
  sock_filter allow = {6, 0, 0, SECCOMP_RET_ALLOW};
  sock_fprog program = {1, &allow};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || syscall(SYS_unshare, 0x10000000) == 0) got = true, puts("the filter is overruled");
  if (prctl(PR_CAPBSET_DROP, 0) == 0) got = true, puts("has CAP_SETPCAP");
  if (!got) puts("contained");
}
