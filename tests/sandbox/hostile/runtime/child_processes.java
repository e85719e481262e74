// verdicts: AC
// tried_exec: yes
// why: a shell that reads for it would have no more rights than it has itself, and is not started at all
// time_limit_s: 3
import java.io.IOException;
import java.util.Scanner;

class Main {
  public static void main(String[] arguments) throws Exception {
    try {
      Process shell = new ProcessBuilder("/bin/sh", "-c", "cat /etc/shadow /proc/1/environ @repository@/sandbox/api.py | wc -c").start();
      System.out.println(new Scanner(shell.getInputStream()).nextInt() == 0 ? "contained" : "read something");
    } catch (IOException refused) {
      System.out.println("contained");
    }
  }
}
