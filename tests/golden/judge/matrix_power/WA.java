import java.util.Scanner;
public class Main {
    static long[][] product(long[][] a, long[][] b) {
        long[][] c = new long[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++) c[i][j] = (c[i][j] + a[i][k] * b[k][j]) % 1000000007;
        return c;
    }
    public static void main(String[] args) {
        int n = (int) new Scanner(System.in).nextLong() & 0x7fffffff;
        long[][] result = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, base = {{1, 1, 1}, {1, 0, 0}, {0, 1, 0}};
        for (; n > 0; n >>= 1, base = product(base, base))
            if (n % 2 == 1) result = product(result, base);
        System.out.println(result[2][0]);
    }
}
