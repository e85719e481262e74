// verdicts: CE
// why: a name of a megabyte in every message
// also: c
int main() { return @repeat(90000, "undeclared")@; }
