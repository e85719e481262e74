// verdicts: AC
// why: starts programs; they run with no more rights than it has itself
// time_limit_s: 3
import java.util.Scanner;

class Main {
  public static void main(String[] arguments) throws Exception {
    Process shell = new ProcessBuilder("/bin/sh", "-c", "cat /etc/shadow /proc/1/environ @repository@/sandbox/api.py | wc -c").start();
    System.out.println(new Scanner(shell.getInputStream()).nextInt() == 0 ? "contained" : "read something");
  }
}
