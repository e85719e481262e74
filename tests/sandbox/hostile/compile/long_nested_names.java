// verdicts: CE
// why: the compiler names a nested class's file itself, longer than file names may be
class Main {
  class A@repeat(200, "a")@ { class B@repeat(200, "b")@ { } }

  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
