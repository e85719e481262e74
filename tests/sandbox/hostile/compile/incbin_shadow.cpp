// verdicts: CE
// why: the assembler puts a file into the program
// also: c
#include <stdio.h>
__asm__(".data\nstart: .incbin \"/etc/shadow\"\n.byte 0");
extern char start[];
int main() { puts(start); }
