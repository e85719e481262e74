// verdicts: CE
// why: the public class names its file, and no file name is that long
public class Main@repeat(5000, "x")@ {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
