// verdicts: AC
// why: prints, closes its streams, works on a little and exits
// also: c
#include <unistd.h>

int main() {
  write(1, "contained\n", 10);
  close(0), close(1), close(2);
  usleep(100000);
}
