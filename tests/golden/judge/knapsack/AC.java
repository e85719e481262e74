import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), capacity = in.nextInt();
        int[] best = new int[capacity + 1];
        while (n-- > 0) {
            int weight = in.nextInt(), worth = in.nextInt();
            for (int left = capacity; left >= weight; left--)
                best[left] = Math.max(best[left], best[left - weight] + worth);
        }
        System.out.println(best[capacity]);
    }
}
