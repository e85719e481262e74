// verdicts: CE
// why: a question about subtypes that the compiler cannot answer in finite time (Kennedy and Pierce, 2007)
// compile_timeout_s: 0.5
class Main {
  interface N<Z> {}
  interface C<X> extends N<N<? super C<C<X>>>> {}

  static N<? super C<Byte>> question(C<Byte> x) {
    return x;
  }

  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
