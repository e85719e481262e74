// verdicts: CE AC RE
// why: more than four thousand class files
// time_limit_s: 2
@repeat(4200, "class C%d {}\n")@
class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
