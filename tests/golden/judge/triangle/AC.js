const n = Number(require("fs").readFileSync(0, "utf8"));
for (let i = 1; i <= n; i++) console.log(" ".repeat(n - i) + "*".repeat(2 * i - 1) + "   ");
