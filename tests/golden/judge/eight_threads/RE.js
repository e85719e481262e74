const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) {
  const n = Number(require("fs").readFileSync(0, "utf8"));
  let total = 0, left = 4;
  for (let k = 0; k < 4; k++) {
    const worker = new Worker(__filename, { workerData: { n, k }, resourceLimits: { stackSizeMb: 4 } });
    worker.on("message", (part) => {
      total += part;
      if (--left === 0) console.log(total % 1000003);
    });
  }
} else {
  const { n, k } = workerData;
  let part = missing;
  for (let i = k; i <= n; i += 4) part = (part + i * i) % 1000003;
  parentPort.postMessage(part);
}
