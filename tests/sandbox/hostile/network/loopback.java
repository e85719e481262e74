// verdicts: AC
// why: Java's own network stack
// time_limit_s: 2
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

class Main {
  public static void main(String[] arguments) {
    boolean got = false;
    try (ServerSocket server = new ServerSocket(0)) {
      got = true;
    } catch (Exception e) {
    }
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", @service_port@), 500);
      got = true;
    } catch (Exception e) {
    }
    System.out.println(got ? "connected" : "contained");
  }
}
