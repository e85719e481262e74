// verdicts: AC
// tried_exec: yes
// time_limit_s: 5
// why: starts programs by each of the ways that the JDK has to launch one; threads and the runtime's own work go on
import java.io.File;
import java.io.IOException;
import java.util.List;

class Main {
  static int got = 0;

  static void attempt(String... command) throws Exception {
    for (String mechanism : List.of("POSIX_SPAWN", "VFORK", "FORK")) {
      System.setProperty("jdk.lang.Process.launchMechanism", mechanism);
      try {
        if (new ProcessBuilder(command).inheritIO().start().waitFor() == 0) got++;
      } catch (IOException | Error refused) {
      }
      try {
        if (Runtime.getRuntime().exec(command, null, new File("/tmp")).waitFor() == 0) got++;
      } catch (IOException | Error refused) {
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    attempt("/bin/sh", "-c", "echo started");
    attempt("/usr/bin/python3", "-c", "print('started')");
    attempt(System.getProperty("java.home") + "/bin/java", "-version");
    attempt("/proc/self/exe", "-version");
    Thread thread = new Thread(() -> System.out.println(got == 0 ? "contained" : "started something"));
    thread.start();
    thread.join();
  }
}
