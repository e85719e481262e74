// verdicts: AC
// why: System.exit(0) from another thread while the main one loops; exit status 0 with the right output
// time_limit_s: 2
class Main {
  public static void main(String[] arguments) throws Exception {
    new Thread(() -> {
      System.out.println("contained");
      System.exit(0);
    }).start();
    Thread.sleep(60000);
  }
}
