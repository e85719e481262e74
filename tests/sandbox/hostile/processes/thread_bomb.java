// verdicts: RE MLE
// why: starts threads until the virtual machine throws OutOfMemoryError, which nobody catches
// time_limit_s: 2
class Main {
  public static void main(String[] arguments) {
    for (int i = 0; i < 100000; i++) {
      Thread thread = new Thread(() -> {
        try {
          Thread.sleep(60000);
        } catch (InterruptedException e) {
        }
      });
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("100000 threads");
  }
}
