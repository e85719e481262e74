// verdicts: MLE
// why: makes itself undumpable, which hides parts of its /proc entry, names itself to confuse a reader, and grows slowly
// time_limit_s: 3
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main() {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NAME, "a) S 1 1 1");
  for (;;) memset(new char[1 << 20], 1, 1 << 20), usleep(500);
}
