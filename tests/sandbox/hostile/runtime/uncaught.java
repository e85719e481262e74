// verdicts: RE
// why: an uncaught exception after the right output
// time_limit_s: 2
public class uncaught {
  public static void main(String[] arguments) {
    System.out.println("contained");
    throw new IllegalStateException("uncaught");
  }
}
