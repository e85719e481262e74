// verdicts: RE
// why: the same bytes on stderr with a failure, so that they end up in the message
// also: c
#include <stdio.h>

int main() {
  puts("contained");
  const char bytes[] = "\xff\xfe\0\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80\x1b[2J";
  for (int i = 0; i < 100; i++) fwrite(bytes, 1, sizeof bytes, stderr);
  return 1;
}
