const [n, ...c] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/).map(Number);
let area = 0, perimeter = 0;
for (let i = 0; i < n; i++) {
  const j = (i + 1) % n;
  area += c[2 * i] * c[2 * j + 1] - c[2 * j] * c[2 * i + 1];
  perimeter += Math.hypot(c[2 * i] - c[2 * j], c[2 * i + 1] - c[2 * j + 1]);
}
console.log(Math.abs(area) / 2, perimeter);
