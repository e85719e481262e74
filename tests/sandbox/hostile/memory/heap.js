// verdicts: MLE RE
// why: V8's own heap limit aborts (RE), or the memory limit comes first
// time_limit_s: 5
const held = [];
for (;;) held.push(new Array(1 << 17).fill(1.5));
