// verdicts: TLE
// why: a regular expression that backtracks for ever
// time_limit_s: 0.4
console.log(/^(a+)+$/.test('a'.repeat(40) + 'b'));
