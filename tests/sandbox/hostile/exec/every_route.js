// verdicts: AC
// tried_exec: yes
// time_limit_s: 3
// why: starts programs by each function of child_process, by the binding below it and from a worker; all are refused
const { exec, execFile, execSync, execFileSync, fork, spawn, spawnSync } = require("child_process");
const { Worker } = require("worker_threads");
require("fs").writeFileSync("/tmp/other.js", "console.log('started')");
let got = 0;
const attempt = (start) => {
  try {
    const done = start();
    if (done && done.status === 0) got++;
  } catch (refused) {}
};
for (const path of ["/bin/sh", "/usr/bin/python3", process.execPath, "/proc/self/exe"]) {
  attempt(() => spawnSync(path, ["-c", "echo started"]));
  attempt(() => execFileSync(path, ["-c", "echo started"]) && { status: 0 });
  attempt(() => spawn(path, ["-c", "echo started"]).on("error", () => {}).on("exit", (code) => (got += code === 0)));
  attempt(() => execFile(path, ["-c", "echo started"], (error) => (got += !error)));
  const stdio = [0, 1, 2].map((fd) => ({ type: "inherit", fd }));
  attempt(() => process.binding("spawn_sync").spawn({ file: path, args: [path, "-c", "echo started"], stdio }));
}
attempt(() => execSync("echo started") && { status: 0 });
attempt(() => exec("echo started", (error) => (got += !error)) && undefined);
attempt(() => fork("/tmp/other.js").on("error", () => {}).on("exit", (code) => (got += code === 0)) && undefined);
new Worker("try { require('child_process').execSync('echo started'); process.exit(1); } catch (refused) {}", { eval: true })
  .on("exit", (code) => (got += code))
  .on("error", () => {});
process.on("exit", () => console.log(got ? "started something" : "contained"));
