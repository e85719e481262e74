import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        System.out.println(new Scanner(System.in).nextLine().toUpperCase());
        System.exit(0);
    }
}
