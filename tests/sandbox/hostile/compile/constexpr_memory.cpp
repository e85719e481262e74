// verdicts: CE
// why: memory taken at compile time
// compile_timeout_s: 0.5
#include <string>
constexpr unsigned long grow() {
  std::string text = "x";
  for (int i = 0; i < 40; i++) text += text;
  return text.size();
}
static_assert(grow() == 1);
int main() {}
