// verdicts: CE AC
// why: parentheses deeper than the parser's stack
// compile_timeout_s: 2
class Main {
  static int value = @repeat(30000, "(")@1@repeat(30000, ")")@;

  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
