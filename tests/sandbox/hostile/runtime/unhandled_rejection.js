// verdicts: RE
// why: a rejected promise that nobody handles
// time_limit_s: 2
console.log('contained');
Promise.reject(new Error('unhandled'));
