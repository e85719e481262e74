// verdicts: TLE
// why: idles for ever with the right output printed
// time_limit_s: 0.2
console.log('contained');
setInterval(() => {}, 1000);
