// verdicts: AC
// why: twenty thousand folders and files, wide and deep, for the cleaner to work on between two tests
// tests: 2
// time_limit_s: 2
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main() {
  int left = 0;
  DIR *list = opendir("/tmp");
  while (dirent *entry = readdir(list)) left += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
  chdir("/tmp");
  for (int i = 0; i < 100; i++) {
    char name[32];
    for (int j = 0; j < 100; j++) {
      snprintf(name, sizeof name, "%d-%d", i, j);
      mkdir(name, 0700);
      close(openat(AT_FDCWD, strcat(name, "/f"), O_WRONLY | O_CREAT, 0));
    }
    mkdir("deeper", 0700), chdir("deeper");
  }
  if (left) printf("%d left\n", left);
  else puts("contained");
}
