import java.util.*;
public class Main {
    public static void main(String[] args) {
        String word = new Scanner(System.in).next();
        Set<String> all = new HashSet<>();
        for (int i = 0; i < word.length(); i++)
            for (int j = i + 1; j <= word.length(); j++) all.add(word.substring(i, j));
        System.out.println(all.size());
    }
}
