// verdicts: CE
// why: the assembler quotes lines that it cannot read
// also: c
__asm__(".include \"/etc/passwd\"\n.include \"/proc/self/environ\"");
int main() {}
