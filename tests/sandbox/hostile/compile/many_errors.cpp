// verdicts: CE
// why: megabytes of diagnostics
// also: c
int main() {}
@repeat(12000, "int a%d = undeclared_name_that_is_rather_long_%d;\n")@
