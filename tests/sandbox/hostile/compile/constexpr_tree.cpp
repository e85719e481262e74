// verdicts: CE
// why: exponential evaluation within every single limit of the compiler
// compile_timeout_s: 0.5
constexpr long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
template <int N> constexpr long wide = fibonacci(28 + N % 3) + wide<N - 1>;
template <> constexpr long wide<0> = 0;
static_assert(wide<200> == 1);
int main() {}
