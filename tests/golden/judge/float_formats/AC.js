for (const x of require("fs").readFileSync(0, "utf8").trim().split(/\s+/)) console.log(Number(x) / 3);
