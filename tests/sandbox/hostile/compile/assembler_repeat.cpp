// verdicts: CE
// why: two lines of assembly that stand for 4 GB
// compile_timeout_s: 0.5
// also: c
__asm__(".rept 1000000000\n.ascii \"xxxx\"\n.endr");
int main() {}
