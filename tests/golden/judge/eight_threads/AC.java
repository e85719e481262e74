import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;
public class Main {
    public static void main(String[] args) throws InterruptedException {
        long n = new Scanner(System.in).nextLong();
        AtomicLong total = new AtomicLong();
        Thread[] threads = new Thread[8];
        for (int k = 0; k < 8; k++) {
            int first = k;
            threads[k] = new Thread(() -> {
                long part = 0;
                for (long i = first; i <= n; i += 8) part = (part + i * i) % 1000003;
                total.addAndGet(part);
            });
            threads[k].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(total.get() % 1000003);
    }
}
