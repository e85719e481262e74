// verdicts: AC
// why: asks the preprocessor which files exist
// also: c
#include <stdio.h>
#if __has_include("/etc/shadow") || __has_include("/etc/passwd") || __has_include("@repository@/sandbox/api.py") || \
    __has_include("@state@") || __has_include("/root/.bashrc")
#define GOT 1
#else
#define GOT 0
#endif

int main() { puts(GOT ? "a file of the host is there" : "contained"); }
