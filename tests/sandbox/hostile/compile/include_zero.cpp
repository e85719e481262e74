// verdicts: CE
// why: a file without an end
// compile_timeout_s: 0.5
#include "/dev/zero"
int main() {}
