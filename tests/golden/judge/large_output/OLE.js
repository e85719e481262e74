const fs = require("fs");
for (let i = 0; ; i++) fs.writeSync(1, `${i * i}\n`.repeat(1000));
