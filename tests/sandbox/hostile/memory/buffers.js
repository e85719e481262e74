// verdicts: MLE
// why: memory outside of V8's heap
// time_limit_s: 3
const held = [];
for (;;) held.push(Buffer.alloc(1 << 20, 1));
