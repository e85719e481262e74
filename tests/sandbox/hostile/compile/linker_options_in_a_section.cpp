// verdicts: AC CE
// why: sections and symbols with a meaning for linker and loader
// also: c
#include <stdio.h>
__asm__(".section .note.GNU-stack,\"x\",@progbits\n.section .note.gnu.property,\"a\"\n.text");
__asm__(".section .gnu.warning.main,\"\",@progbits\n.ascii \"said the linker\"\n.text");
int main() { puts("contained"); }
