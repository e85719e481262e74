// verdicts: CE
// why: recursion without end at compile time
template <int N> struct Down { enum { value = Down<N + 1>::value }; };
int main() { return Down<0>::value; }
