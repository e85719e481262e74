// verdicts: CE
// why: includes itself twice at every level: 2^200 lines
// compile_timeout_s: 0.5
// also: c
#include __FILE__
#include __FILE__
int main() {}
