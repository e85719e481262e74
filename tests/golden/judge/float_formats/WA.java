import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNext()) System.out.println((int) (Double.parseDouble(in.next()) / 3));
    }
}
