// verdicts: AC
// why: a key in the user's keyring outlives every process
// tests: 2
// requests: 2
#include <initializer_list>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (long ring : {-2l, -3l, -4l, -5l}) {
    if (syscall(SYS_keyctl, 10 /* search */, ring, "user", "kept", 0) >= 0) got = true, puts("found");
    if (syscall(SYS_add_key, "user", "kept", "note", 4, ring) >= 0) got = true, puts("added");
  }
  if (!got) puts("contained");
}
