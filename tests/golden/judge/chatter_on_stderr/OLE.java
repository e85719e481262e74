import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        String digits = new Scanner(System.in).next();
        for (int i = 0; i < 1000;) System.err.print("x".repeat(1000));
        System.out.println(digits.length());
    }
}
