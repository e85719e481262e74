import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNext()) {
            long a = in.nextLong(), b = in.nextLong();
            System.out.println(b == 0 ? "error" : "" + a / b);
        }
    }
}
