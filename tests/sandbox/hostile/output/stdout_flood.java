// verdicts: OLE
// why: prints without end from another thread while the main one exits
// time_limit_s: 4
class Main {
  public static void main(String[] arguments) {
    String block = "x".repeat(1 << 16);
    new Thread(() -> {
      while (true) System.out.println(block);
    }).start();
  }
}
