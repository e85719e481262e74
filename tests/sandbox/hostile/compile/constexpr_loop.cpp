// verdicts: CE
// why: a loop without end at compile time
constexpr int loop() {
  int i = 0;
  for (;;) i = i + 1;
  return i;
}
constexpr int value = loop();
int main() { return value; }
