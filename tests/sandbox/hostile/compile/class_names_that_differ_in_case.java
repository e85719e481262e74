// verdicts: AC
// why: classes named like the launcher's options, files and folders
// time_limit_s: 2
class main {}
class META_INF {}
class con {}
class $ {}
class Main {
  class $1 {}
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
