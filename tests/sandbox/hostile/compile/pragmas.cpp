// verdicts: CE AC
// why: pragmas that load, read or depend on files
#pragma GCC plugin "/tmp/src/plugin.so"
#pragma GCC pch_preprocess "/etc/passwd"
#pragma GCC dependency "/etc/passwd"
#pragma GCC system_header
#pragma comment(lib, "/etc/passwd")
#include <stdio.h>
int main() { puts("contained"); }
