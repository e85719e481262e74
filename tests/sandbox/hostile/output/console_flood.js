// verdicts: OLE MLE TLE
// why: the same by console.log: what node cannot write at once it keeps in memory until the loop ends, which it never does
// time_limit_s: 1
for (;;) console.log('x'.repeat(65536));
