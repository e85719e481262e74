import java.util.*;
public class Main {
    static int[] root;
    static int find(int a) {
        while (root[a] != a) a = root[a] = root[root[a]];
        
    }
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), m = in.nextInt(), parts = n;
        root = new int[n + 1];
        for (int i = 0; i <= n; i++) root[i] = i;
        while (m-- > 0) {
            int a = find(in.nextInt()), b = find(in.nextInt());
            if (a == b) continue;
            root[a] = b;
            parts--;
        }
        System.out.println(parts);
    }
}
