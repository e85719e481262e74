// verdicts: CE
// why: types whose names double at every level, in an error message
// compile_timeout_s: 0.5
template <class A, class B> struct Pair {};
template <int N> struct Double { using type = Pair<typename Double<N - 1>::type, typename Double<N - 1>::type>; };
template <> struct Double<0> { using type = int; };
int main() { Double<30>::type::missing(); }
