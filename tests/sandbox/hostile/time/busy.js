// verdicts: TLE
// why: a loop of microtasks, which never lets a timer run
// time_limit_s: 0.5
const again = () => Promise.resolve().then(again);
again();
