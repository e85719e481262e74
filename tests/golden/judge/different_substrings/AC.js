const word = require("fs").readFileSync(0, "utf8").trim();
const suffixes = Array.from(word, (_, i) => word.slice(i)).sort();
let total = 0, last = "";
for (const suffix of suffixes) {
  let same = 0;
  while (same < suffix.length && same < last.length && suffix[same] === last[same]) same++;
  total += suffix.length - same;
  last = suffix;
}
console.log(total);
