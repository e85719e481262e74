// verdicts: CE
// why: a name of a megabyte in every message
int main() { return @repeat(90000, "undeclared")@; }
