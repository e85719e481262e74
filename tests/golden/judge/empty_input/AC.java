import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        List<Integer> numbers = new ArrayList<>();
        while (in.hasNextInt()) numbers.add(in.nextInt());
        System.out.println(numbers.isEmpty() ? "none" : "" + Collections.max(numbers));
    }
}
