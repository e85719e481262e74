// verdicts: TLE
// why: a busy loop, in a virtual machine that catches the signal which the CPU limit sends
// time_limit_s: 0.6
class Main {
  public static void main(String[] arguments) {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true); }));
    while (true);
  }
}
