import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), k = in.nextInt();
        long[] table = new long[n];
        Arrays.fill(table, 7L);
        long x = 1, total = 0;
        for (int i = 0; i < k; i++) {
            x = (x * 1103515245L + 12345) % (1L << 31);
            total += table[(int) (x % n)] ;
            table[(int) (x % n)] = i % 251;
        }
        System.out.println(total);
    }
}
