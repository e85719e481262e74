// verdicts: RE
// why: an uncaught exception after the right output
// time_limit_s: 2
console.log('contained');
throw new Error('uncaught');
