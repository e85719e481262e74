// verdicts: RE
// why: process.abort() dumps core where it can
// time_limit_s: 2
console.log('contained');
process.abort();
