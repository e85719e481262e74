import java.util.*;
public class Main {
    public static void main(String[] args) {
        Map<String, Integer> counts = new HashMap<>();
        Scanner in = new Scanner(System.in);
        while (in.hasNext()) counts.merge(in.next(), 1, Integer::sum);
        List<Map.Entry<String, Integer>> order = new ArrayList<>(counts.entrySet());
        order.sort((a, b) -> b.getValue() - a.getValue());
        StringBuilder out = new StringBuilder();
        for (var entry : order) out.append(entry.getKey()).append(' ').append(entry.getValue()).append('\n');
        System.out.print(out);
    }
}
