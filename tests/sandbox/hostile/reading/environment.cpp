// verdicts: AC
// why: the same in a program that was executed instead of forked
#include <initializer_list>
#include <stdio.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv) {
  bool got = false;
  for (char **e = environ; *e; e++) {
    bool known = false;
    for (const char *name : {"PATH=", "LANG=", "LC_ALL=", "HOME=", "TMPDIR=", "PWD=", "USER=", "TZ="})
      known = known || !strncmp(*e, name, strlen(name));
    if (!known) got = true, puts(*e);
  }
  if (argc != 1) got = true, puts(argv[1]);
  if (!got) puts("contained");
}
