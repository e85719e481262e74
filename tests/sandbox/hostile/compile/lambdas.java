// verdicts: CE AC
// why: overloads and nested lambdas, inferred again at every level for every overload
// compile_timeout_s: 2
import java.util.function.*;

class Main {
  static <T> T f(Function<T, T> x) { return null; }
  static <T> T f(UnaryOperator<T> x) { return null; }
  static <T> T f(Supplier<T> x) { return null; }
  static <T extends Comparable<T>> T f(BiFunction<T, T, T> x) { return null; }

  public static void main(String[] arguments) {
    Object x = f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> f(() -> 1))))))))))))));
    System.out.println("contained");
  }
}
