const n = Number(require("fs").readFileSync(0, "utf8"));
let x = 1;
for (let repeat = 0; repeat < 1000; repeat++) {
  x = 1;
  for (let i = 0; i < n; i++) x = (x * 48271 + i) % 2147483647;
}
console.log(x);
