import java.io.*;
import java.nio.charset.StandardCharsets;
public class Main {
    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1));
        String reversed = new StringBuilder(in.readLine()).reverse().toString();
        new PrintStream(System.out, true, "UTF-8").println(reversed);
    }
}
