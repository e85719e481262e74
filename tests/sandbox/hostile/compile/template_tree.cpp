// verdicts: CE
// why: twice as many instantiations at every level
// compile_timeout_s: 0.5
template <int Depth, long Path> struct Tree { enum { value = Tree<Depth - 1, Path * 2>::value + Tree<Depth - 1, Path * 2 + 1>::value }; };
template <long Path> struct Tree<0, Path> { enum { value = 1 }; };
int main() { return Tree<40, 0>::value; }
