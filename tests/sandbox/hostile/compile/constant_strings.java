// verdicts: CE
// why: constants that the compiler concatenates: 2 GB in thirty lines
// compile_timeout_s: 2
class Main {
  static final String A = "xxxxxxxxxxxxxxxx", B = A + A + A + A, C = B + B + B + B, D = C + C + C + C, E = D + D + D + D;
  static final String F = E + E + E + E, G = F + F + F + F, H = G + G + G + G, I = H + H + H + H, J = I + I + I + I;
  static final String K = J + J + J + J, L = K + K + K + K, M = L + L + L + L, N = M + M + M + M;

  public static void main(String[] arguments) {
    System.out.println(N.length());
  }
}
