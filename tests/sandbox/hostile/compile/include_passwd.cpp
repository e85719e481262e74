// verdicts: CE
// why: the same with a file that everybody may read
// also: c
#include "/etc/passwd"
#include </etc/../etc/passwd>
int main() {}
