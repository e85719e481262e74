// verdicts: WA
// why: the same through what an executed program inherits: arguments, environment, descriptors, working directory
// output: unguessable
#include <dirent.h>
#include <fcntl.h>
#include <initializer_list>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;
static char content[1 << 20];

static void search(const char *text, size_t n) {
  const char prefix[] = {'M', 'A', 'D', 'R', 'L', '-', 'T', 'O', 'K', 'E', 'N', '-'};
  if (const char *at = (const char *)memmem(text, n, prefix, sizeof prefix)) printf("%.44s\n", at);
}

int main(int, char **argv) {
  for (char **text : {argv, environ})
    for (; *text; text++) search(*text, strlen(*text));
  for (int fd = 0; fd < 1024; fd++) {
    ssize_t n = pread(fd, content, sizeof content, 0);
    if (n > 0) search(content, n);
  }
  for (const char *folder : {".", "/", "/tmp", "/box", "/dev/shm", "/run"})
    if (DIR *list = opendir(folder))
      while (dirent *entry = readdir(list)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        ssize_t n = read(fd, content, sizeof content);
        if (n > 0) search(content, n);
        if (fd >= 0) close(fd);
      }
  puts("contained");
}
