const [n, ...a] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
for (let i = 0; i < n; i++)
  for (let j = 0; j + 1 < n; j++)
    if (a[j] > a[j + 1]) [a[j], a[j + 1]] = [a[j + 1], a[j]];
console.log(a.join(" "));
