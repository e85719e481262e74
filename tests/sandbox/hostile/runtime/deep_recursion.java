// verdicts: RE MLE
// why: StackOverflowError
// time_limit_s: 2
class Main {
  static int down(int n) {
    return down(n + 1) + 1;
  }

  public static void main(String[] arguments) {
    System.out.println(down(0));
  }
}
