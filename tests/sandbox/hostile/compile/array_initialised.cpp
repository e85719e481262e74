// verdicts: CE
// why: 4 GB of data in the executable
// compile_timeout_s: 0.5
// also: c
char data[4ll << 30] = {1};
int main() { return data[5]; }
