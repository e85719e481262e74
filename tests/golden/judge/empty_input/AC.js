const numbers = require("fs").readFileSync(0, "utf8").match(/\d+/g) || [];
console.log(numbers.length ? Math.max(...numbers) : "none");
