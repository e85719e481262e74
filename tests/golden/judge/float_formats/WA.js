for (const x of require("fs").readFileSync(0, "utf8").trim().split(/\s+/)) console.log(Math.floor(Number(x) / 3));
