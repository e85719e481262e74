// verdicts: CE
// why: the compiler shows what it cannot parse
#include "/etc/shadow"
int main() {}
