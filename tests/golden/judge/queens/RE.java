import java.util.Scanner;
public class Main {
    static int n;
    static boolean[] columns = new boolean[20], up = new boolean[40], down = new boolean[40];
    static int ways(int row) {
        if (row == n) return 1;
        int count = 0;
        for (int c = 0; c < n; c++) {
            if (columns[c] || up[row + c] || down[row - c]) continue;
            columns[c] = up[row + c] = down[row - c] = true;
            count += ways(row + 1);
            columns[c] = up[row + c] = down[row - c] = false;
        }
        return count;
    }
    public static void main(String[] args) {
        n = new Scanner(System.in).nextInt();
        System.out.println(ways(0));
    }
}
