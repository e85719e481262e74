// verdicts: CE
// why: an object file of 8 GB
// compile_timeout_s: 0.5
// also: c
__asm__(".data\n.fill 0x40000000, 8, 1\n");
int main() {}
