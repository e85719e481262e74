const M = 1000000007n;
const product = (a, b) => a.map((row) => [0, 1, 2].map((j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0n) % M));
let n = BigInt(require("fs").readFileSync(0, "utf8").trim());
let result = [[1n, 0n, 0n], [0n, 1n, 0n], [0n, 0n, 1n]];
let base = [[1n, 1n, 1n], [1n, 0n, 0n], [0n, 1n, 0n]];
for (; n > 0n; n--) result = product(result, base);
console.log(String(result[2][0]));
