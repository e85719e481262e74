// verdicts: AC CE RE
// why: class files at paths that just fit into the compiler's sandbox, and not where they are copied to
// time_limit_s: 2
package @repeat(20, "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp.")@qqqqqqqqqq;

public class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
