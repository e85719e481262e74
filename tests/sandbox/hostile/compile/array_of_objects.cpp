// verdicts: CE MLE RE
// why: a constant array that the compiler itself has to compute
// compile_timeout_s: 1
struct Item {
  int value;
  constexpr Item() : value(7) {}
};
constexpr Item items[1ll << 28] = {};
int main() { return items[12345].value; }
