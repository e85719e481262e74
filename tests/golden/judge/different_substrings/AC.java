import java.util.*;
public class Main {
    public static void main(String[] args) {
        String word = new Scanner(System.in).next();
        List<String> suffixes = new ArrayList<>();
        for (int i = 0; i < word.length(); i++) suffixes.add(word.substring(i));
        Collections.sort(suffixes);
        long total = 0;
        String last = "";
        for (String suffix : suffixes) {
            int same = 0;
            while (same < suffix.length() && same < last.length() && suffix.charAt(same) == last.charAt(same)) same++;
            total += suffix.length() - same;
            last = suffix;
        }
        System.out.println(total);
    }
}
