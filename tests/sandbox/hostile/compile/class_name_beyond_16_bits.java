// verdicts: AC CE
// why: a letter that class files write as two surrogates
// time_limit_s: 2
public class 𝒳 {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
