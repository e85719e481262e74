// verdicts: AC CE
// why: text that JSON can carry and UTF-8 cannot
// time_limit_s: 2
const text = '@repeat(1, "\udfff")@';
console.log(text.length ? 'contained' : '');
