import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in).useLocale(Locale.ROOT);
        int n = in.nextInt();
        double[] x = new double[n], y = new double[n];
        for (int i = 0; i < n; i++) {
            x[i] = in.nextDouble();
            y[i] = in.nextDouble();
        }
        double area = 0, perimeter = 0;
        for (int i = 0; i < n; i++) {
            int j = (i + 1) % n;
            area += x[i] * y[j] - x[j] * y[i];
            perimeter += Math.hypot(x[i] - x[j], y[i] - y[j]);
        }
        System.out.println(Math.abs(area) + " " + perimeter);
    }
}
