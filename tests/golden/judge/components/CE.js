const [n, m, ...ends] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
const root = Array.from({ length: n + 1 }, (_, i) => i);
const find = (a) => {
  while (root[a] !== a) a = root[a] = root[root[a]];
  return a;
};
let parts = n;
let parts = 0;
for (let i = 0; i < m; i++) {
  const a = find(ends[2 * i]), b = find(ends[2 * i + 1]);
  if (a !== b) {
    root[a] = b;
    parts--;
  }
}
console.log(parts);
