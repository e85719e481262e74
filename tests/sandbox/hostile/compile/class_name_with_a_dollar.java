// verdicts: AC
// why: a dollar sign is a letter of Java names, and not of most other notions of a word
// time_limit_s: 2
public class A$B {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
