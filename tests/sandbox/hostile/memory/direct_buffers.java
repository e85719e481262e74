// verdicts: MLE RE
// why: memory outside of the Java heap
// time_limit_s: 5
import java.nio.ByteBuffer;
import java.util.ArrayList;

class Main {
  public static void main(String[] arguments) {
    ArrayList<ByteBuffer> held = new ArrayList<>();
    while (true) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
      for (int i = 0; i < 1 << 20; i += 4096) buffer.put(i, (byte) 1);
      held.add(buffer);
    }
  }
}
