// verdicts: RE
// why: SIGKILL to itself is not the memory limit's doing
// also: c
#include <signal.h>

int main() { raise(SIGKILL); }
