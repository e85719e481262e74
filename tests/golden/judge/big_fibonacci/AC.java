import java.math.BigInteger;
import java.util.Scanner;
public class Fibonacci {
    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt();
        BigInteger a = BigInteger.ZERO, b = BigInteger.ONE;
        for (int i = 0; i < n; i++) {
            BigInteger c = a.add(b);
            a = b;
            b = c;
        }
        System.out.println(a);
    }
}
