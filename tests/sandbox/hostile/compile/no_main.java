// verdicts: CE RE
// why: nothing to start
class Main {
  void main() {}
}
