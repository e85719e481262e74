const n = Number(require("fs").readFileSync(0, "utf8"));
function ways(row, columns, up, down) {
  if (row === n) return 1;
  let count = 0;
  for (let c = 0; c < n; c++) {
    const a = 1 << c, b = 1 << (row + c), d = 1 << (row - c + n);
    if (!(columns & a) && !(up & b) && !(down & d)) count += ways(row + 1, columns | a, up | b, down | d);
  }
  return count;
}
console.log(ways(0, 0, 0, 0));
