// verdicts: TLE
// why: a busy loop
// time_limit_s: 0.3
// also: c
int main() {
  for (volatile int i = 0;; i++) continue;
}
