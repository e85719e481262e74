// verdicts: MLE RE CE
// why: 4 GB that take no room in the file; touched when it runs, where it is loaded at all
// time_limit_s: 3
// also: c
static char data[4ll << 30];
int main() {
  for (long i = 0; i < 4ll << 30; i += 4096) data[i] = 1;
  return data[123456];
}
