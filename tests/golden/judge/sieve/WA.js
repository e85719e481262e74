const n = Number(require("fs").readFileSync(0, "utf8"));
const composite = new Uint8Array(n + 1);
let count = 0;
for (let p = 2; p <= n; p++) {
  if (composite[p]) continue;
  count++;
  for (let q = p * p; q <= n; q += p) composite[q] = 1;
}
console.log(count + 1);
