// verdicts: AC CE
// why: the same with the assembler's own environment, of which a program may know only what is clean
#include <stdio.h>
#include <string.h>
__asm__(".data\n.global start\n.global end\nstart: .incbin \"/proc/self/environ\"\nend: .byte 0");
extern "C" char start[], end[];

int main() { puts(memmem(start, end - start, "planted-", 8) || memmem(start, end - start, "MADRL", 5) ? start : "contained"); }
