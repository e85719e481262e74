import java.util.Scanner;
class Sieve {
    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt(), count = 0;
        boolean[] composite = new boolean[n + 1];
        for (int p = 2; p <= n; p++) {
            if (composite[p]) continue;
            count++;
            for (long q = (long) p * p; q < n / 2; q += p) composite[(int) q] = true;
        }
        System.out.println(count);
    }
}
