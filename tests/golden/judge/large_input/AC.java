import java.io.*;
public class Main {
    public static void main(String[] args) throws IOException {
        byte[] piece = new byte[65536];
        int count = 0;
        boolean found = false;
        for (int n; (n = System.in.read(piece)) > 0; )
            for (int i = 0; i < n; i++) {
                found |= piece[i] == '7';
                if (piece[i] == '\n') {
                    if (found) count++;
                    found = false;
                }
            }
        System.out.println(count);
    }
}
