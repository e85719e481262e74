// verdicts: RE
// why: the exit status is decided by a shutdown hook
// time_limit_s: 2
class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(3)));
  }
}
