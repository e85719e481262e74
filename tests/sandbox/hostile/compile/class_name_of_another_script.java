// verdicts: AC CE
// why: a public class whose name is no ASCII
// time_limit_s: 2
public class Grüße {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
