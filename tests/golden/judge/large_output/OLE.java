import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt();
        StringBuilder out = new StringBuilder();
        for (long i = 0; i < n || i > 3; i++) {
            out.append(i * i).append('\n');
            if (out.length() > 60000) {
                System.out.print(out);
                out.setLength(0);
            }
        }
        System.out.print(out);
    }
}
