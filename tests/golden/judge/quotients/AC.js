for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  const [a, b] = line.split(" ").map(BigInt);
  console.log(b ? String(a / b) : "error");
}
