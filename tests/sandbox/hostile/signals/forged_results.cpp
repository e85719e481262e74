// verdicts: RE
// why: writes replies of a test that went well to every descriptor that might lead to the judge, and fails
// tests: 2
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main() {
  struct {
    int32_t status;
    uint32_t flags, rss_kb, out_len, err_len, reserved;
    uint64_t cpu_us, wall_us;
    char out[10];
  } reply = {0, 0, 1000, 10, 0, 0, 1000, 1000, {'c', 'o', 'n', 't', 'a', 'i', 'n', 'e', 'd', '\n'}};
  for (int i = 0; i < 3; i++)
    for (int fd = 0; fd < 1024; fd++) {
      if (fd == 1) continue;
      write(fd, &reply, sizeof reply - 6), send(fd, &reply, sizeof reply, MSG_NOSIGNAL);
      char path[64];
      snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
      if (FILE *file = fopen(path, "w")) fwrite(&reply, 1, sizeof reply, file), fclose(file);
    }
  puts("contained");
  fflush(stdout);
  _exit(1);
}
