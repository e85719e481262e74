// verdicts: CE RE
// why: a class in a package that only the platform may fill
// time_limit_s: 2
package java.lang;

public class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
