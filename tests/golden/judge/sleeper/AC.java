import java.util.Scanner;
public class Main {
    public static void main(String[] args) throws InterruptedException {
        String word = new Scanner(System.in).next();
        Thread.sleep(300);
        System.out.println(word);
    }
}
