// verdicts: CE RE AC
// why: the same in a program without an error
// time_limit_s: 2
const value = @repeat(50000, "[")@@repeat(50000, "]")@;
console.log(value.length ? 'contained' : 'contained');
