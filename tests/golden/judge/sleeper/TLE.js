const word = require("fs").readFileSync(0, "utf8");
setTimeout(() => console.log(word), 3600e3);
