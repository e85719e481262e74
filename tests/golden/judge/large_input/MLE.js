const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const digits = lines.map((line) => Array.from(line, Number));
console.log(digits.filter((line) => line.includes(7)).length);
