// verdicts: AC
// why: what looks like a public class in comments, strings and text blocks does not name the file
// time_limit_s: 2
// public class Commented {}
/* public class ../../../../tmp/Outside { */
class Helper {
  static final String TEXT = "public class Quoted {";
  static final String BLOCK = """
      public class Block { "
      """;
  static final char BRACE = '{', QUOTE = '"', APOSTROPHE = '\'';
}

@SuppressWarnings("public class Annotated {}")
public final class Real {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
