// verdicts: RE MLE
// why: RangeError, or the end of the stack
// time_limit_s: 2
const down = (n) => down(n + 1) + 1;
console.log(down(0));
