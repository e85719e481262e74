// verdicts: AC MLE RE CE
// why: the least memory that can be asked for, in a language whose virtual machine does not fit: the request's fault, never IE
// memory_limit_mb: 16
// time_limit_s: 2
class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
