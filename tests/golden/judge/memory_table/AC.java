import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), k = in.nextInt();
        byte[] table = new byte[n];
        Arrays.fill(table, (byte) 7);
        long x = 1, total = 0;
        for (int i = 0; i < k; i++) {
            x = (x * 1103515245L + 12345) % (1L << 31);
            total += table[(int) (x % n)] & 255;
            table[(int) (x % n)] = (byte) (i % 251);
        }
        System.out.println(total);
    }
}
