const [a, b] = require("fs").readFileSync(0, "utf8").split("\n");
const best = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (_, j) => i + j));
for (let i = 1; i <= a.length; i++)
  for (let j = 1; j <= b.length; j++)
    best[i][j] = Math.min(best[i - 1][j] + 1, best[i][j - 1], best[i - 1][j - 1] + (a[i - 1] !== b[j - 1]));
console.log(best[a.length][b.length]);
