// verdicts: AC CE
// why: the assembler reads a file without an end
// compile_timeout_s: 1
// also: c
#include <stdio.h>
__asm__(".data\n.incbin \"/dev/zero\"");
int main() { puts("contained"); }
