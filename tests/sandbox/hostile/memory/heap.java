// verdicts: MLE RE
// why: the virtual machine's own heap limit throws OutOfMemoryError (RE), or the memory limit comes first
// time_limit_s: 5
import java.util.ArrayList;

class Main {
  public static void main(String[] arguments) {
    ArrayList<long[]> held = new ArrayList<>();
    while (true) held.add(new long[1 << 17]);
  }
}
