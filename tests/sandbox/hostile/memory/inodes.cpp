// verdicts: AC MLE
// why: empty files take kernel memory; refused before 100000 of them, or counted
// time_limit_s: 5
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <unistd.h>

int main() {
  int made = 0;
  for (const char *folder : {"/tmp", "/dev/shm"})
    for (int i = 0; i < 150000; i++) {
      char name[64];
      snprintf(name, sizeof name, "%s/%d", folder, i);
      int fd = open(name, O_WRONLY | O_CREAT, 0600);
      if (fd < 0) break;
      close(fd), made++;
    }
  if (made < 100000) puts("contained");
  else printf("%d files\n", made);
}
