const [[n, capacity], ...things] = require("fs").readFileSync(0, "utf8").trim().split("\n").map((line) => line.split(" ").map(Number));
const best = new Array(capacity + 1).fill(0);
for (const [weight, worth] of things)
  for (let left = weight; left <= capacity; left++) best[left] = Math.max(best[left], best[left - weight] + worth);
console.log(best[capacity]);
