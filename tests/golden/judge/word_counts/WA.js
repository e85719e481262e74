const counts = new Map();
for (const word of require("fs").readFileSync(0, "utf8").trim().split(" ")) counts.set(word, (counts.get(word) || 0) + 1);
const order = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? 1 : -1));
for (const [word, count] of order) console.log(word, count);
