// verdicts: RE MLE TLE
// why: starts worker threads, each a whole V8, until one of the limits ends it
const { Worker } = require('worker_threads');
for (let i = 0; i < 500; i++) new Worker('setInterval(() => {}, 1000)', { eval: true });
