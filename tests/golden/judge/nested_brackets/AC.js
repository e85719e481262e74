const text = require("fs").readFileSync(0, "utf8").trim();
let at = 0;
function depth() {
  let deepest = 0;
  while (at < text.length && text[at] === "(") {
    at++;
    deepest = Math.max(deepest, 1 + depth());
    at++;
  }
  return deepest;
}
console.log(depth());
