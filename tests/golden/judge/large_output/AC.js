const n = Number(require("fs").readFileSync(0, "utf8"));
const lines = [];
for (let i = 0; i < n; i++) lines.push(i * i);
console.log(lines.join("\n"));
