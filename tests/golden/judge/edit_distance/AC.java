import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        String a = in.next(), b = in.next();
        int[][] best = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++)
            for (int j = 0; j <= b.length(); j++) {
                best[i][j] = i + j;
                if (i > 0 && j > 0) {
                    int kept = best[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                    best[i][j] = Math.min(kept, Math.min(best[i - 1][j], best[i][j - 1]) + 1);
                }
            }
        System.out.println(best[a.length()][b.length()]);
    }
}
