// verdicts: CE
// why: an error in a line of a megabyte, which the compiler quotes
// also: c
int main() { return @repeat(90000, "1 + undef ")@; }
