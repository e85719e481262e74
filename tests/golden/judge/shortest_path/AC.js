const [h, w, ...rows] = require("fs").readFileSync(0, "utf8").trim().split(/\s+/);
const far = rows.map((row) => new Array(row.length).fill(-1));
far[0][0] = 0;
const todo = [[0, 0]];
for (let head = 0; head < todo.length; head++) {
  const [y, x] = todo[head];
  for (const [v, u] of [[y + 1, x], [y - 1, x], [y, x + 1], [y, x - 1]]) {
    if (rows[v]?.[u] !== "." || far[v][u] >= 0) continue;
    far[v][u] = far[y][x] + 1;
    todo.push([v, u]);
  }
}
console.log(far[h - 1][w - 1]);
