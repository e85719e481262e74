// verdicts: AC
// time_limit_s: 2
// why: looks for what another language runs on
const fs = require("fs");
const missing = ["/usr/bin/python3", "/usr/bin/sh", "/bin/sh", "/usr/lib/python3", "/usr/lib/jvm", "/usr/lib/gcc", "/usr/libexec"];
const found = missing.filter((path) => fs.existsSync(path));
found.push(...fs.readdirSync("/usr/bin").filter((name) => !name.startsWith("node")));
console.log(found.length ? found.join() : "contained");
