// verdicts: TLE OLE
// why: one byte at a time, so that whoever reads has as much work as whoever writes
// also: c
#include <unistd.h>

int main() {
  for (;;) write(1, "x", 1);
}
