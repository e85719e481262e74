import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int h = in.nextInt(), w = in.nextInt();
        String[] rows = new String[h];
        for (int i = 0; i < h; i++) rows[i] = in.next();
        int[][] far = new int[h][w];
        for (int[] row : far) Arrays.fill(row, -1);
        Deque<int[]> todo = new ArrayDeque<>();
        far[0][0] = 0;
        todo.add(new int[] {0, 0});
        int[] dy = {1, -1, 0, 0}, dx = {0, 0, 1, -1};
        while (!todo.isEmpty()) {
            int cell = todo.poll();
            for (int i = 0; i < 4; i++) {
                int v = cell[0] + dy[i], u = cell[1] + dx[i];
                if (v < 0 || v >= h || u < 0 || u >= w || rows[v].charAt(u) == '#' || far[v][u] >= 0) continue;
                far[v][u] = far[cell[0]][cell[1]] + 1;
                todo.add(new int[] {v, u});
            }
        }
        System.out.println(far[h - 1][w - 1]);
    }
}
