// verdicts: CE AC
// why: parentheses deeper than the parser's stack
// compile_timeout_s: 1
// also: c
#include <stdio.h>
int value = @repeat(100000, "(")@1@repeat(100000, ")")@;
int main() { puts(value ? "contained" : ""); }
