const [n, ...numbers] = require("fs").readFileSync(0, "utf8").split(/\s+/).filter(Boolean).map(Number);
console.log(numbers.reduce((a, b) => a + b, 0));
