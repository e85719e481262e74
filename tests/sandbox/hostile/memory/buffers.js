// verdicts: MLE TLE
// why: memory outside of V8's heap; TLE where node comes from a cold disk: its pages count too, and at the limit are read again and again
// time_limit_s: 3
const held = [];
for (;;) held.push(Buffer.alloc(1 << 20, 1));
