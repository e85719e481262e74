const word = require("fs").readFileSync(0, "utf8").trim();
const all = new Set();
for (let i = 0; i < word.length; i++)
  for (let j = i + 1; j <= word.length; j++) all.add(Buffer.from(word.slice(i, j)).toString("latin1"));
console.log(all.size);
