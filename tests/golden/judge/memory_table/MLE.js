const [n, k] = require("fs").readFileSync(0, "utf8").split(" ").map(Number);
const table = new Float64Array(n).fill(7);
let x = 1n, total = 0;
for (let i = 0; i < k; i++) {
  x = (x * 1103515245n + 12345n) % 2147483648n;
  const at = Number(x) % n;
  total += table[at];
  table[at] = i % 251;
}
console.log(total);
