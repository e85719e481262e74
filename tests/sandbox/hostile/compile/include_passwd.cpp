// verdicts: CE
// why: the same with a file that everybody may read
#include "/etc/passwd"
#include </etc/../etc/passwd>
int main() {}
