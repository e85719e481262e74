// verdicts: MLE
// why: takes and touches memory without end; where it is refused instead of counted, nobody catches std::bad_alloc
// time_limit_s: 3
#include <string.h>

int main() {
  for (;;) memset(new char[1 << 20], 1, 1 << 20);
}
