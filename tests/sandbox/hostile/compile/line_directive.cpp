// verdicts: CE
// why: names other files as the source of an error, for the compiler to quote from
// also: c
#line 1 "/etc/passwd"
int first = undeclared;
#line 1 "/proc/self/environ"
int second = undeclared;
#line 1 "/proc/1/environ"
int third = undeclared;
#line 1 "/etc/shadow"
int main() { return undeclared }
