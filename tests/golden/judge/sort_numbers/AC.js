const [n, ...a] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
a.sort((x, y) => x - y);
console.log(a.join(" "));
