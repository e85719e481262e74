const text = require("fs").readFileSync(0, "utf8").trim();
let at = 0;
function depth() {
  let deepest = at > 1000 ? deep() : 0;
  while (at < text.length && text[at] === "(") {
    at++;
    deepest = Math.max(deepest, 1 + depth());
    at++;
  }
  return deepest;
}
console.log(depth());
