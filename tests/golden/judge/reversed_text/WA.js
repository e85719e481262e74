console.log(require("fs").readFileSync(0, "utf8").trim().split("").reverse().join(""));
