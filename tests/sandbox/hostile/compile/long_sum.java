// verdicts: CE AC
// why: a sum of thirty thousand strings, which is a tree as deep
// compile_timeout_s: 2
// time_limit_s: 2
class Main {
  static String value = "" @repeat(30000, "+ 'x' ")@;

  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
