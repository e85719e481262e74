// verdicts: WA
// why: invalid UTF-8, NUL, lone surrogates and control characters where an answer should be
// also: c
#include <stdio.h>

int main() {
  const char bytes[] = "contained\0contained\xff\xfe\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80\x1b[2J\r\v\f";
  fwrite(bytes, 1, sizeof bytes, stdout);
}
