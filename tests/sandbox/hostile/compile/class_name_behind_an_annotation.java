// verdicts: AC
// why: annotations may stand between the words of a declaration, and comments anywhere
// time_limit_s: 2
public @Deprecated /* not a */ @SuppressWarnings({"public class Other {"}) final class Real {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
