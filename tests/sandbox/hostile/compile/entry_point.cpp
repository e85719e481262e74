// verdicts: RE
// why: crashes before main, in a constructor, and again in a destructor
#include <stdlib.h>
struct Early {
  Early() { *(volatile int *)8 = 1; }
  ~Early() { abort(); }
} early;
int main() {}
