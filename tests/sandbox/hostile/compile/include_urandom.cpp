// verdicts: CE
// why: a file without an end whose content is no text either
// compile_timeout_s: 0.5
// also: c
#include "/dev/urandom"
int main() {}
