// verdicts: CE
// why: the compiler shows what it cannot parse
// also: c
#include "/etc/shadow"
int main() {}
