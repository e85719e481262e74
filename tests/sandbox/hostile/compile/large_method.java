// verdicts: CE
// why: a method of more than 64 KB
class Main {
  public static void main(String[] arguments) {
    int x = 0;
@repeat(20000, "    x += 123456 * x;\n")@
    System.out.println(x);
  }
}
