console.log(require("fs").readFileSync(0, "utf8").toUpperCase());
process.exitCode = 1;
