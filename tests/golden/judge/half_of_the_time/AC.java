import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        long n = new Scanner(System.in).nextLong(), x = 1;
        for (int repeat = 0; repeat < 27; repeat++) {
            x = 1;
            for (long i = 0; i < n; i++) x = (x * 48271 + i) % 2147483647;
        }
        System.out.println(x);
    }
}
