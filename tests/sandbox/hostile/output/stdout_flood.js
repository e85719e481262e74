// verdicts: OLE
// why: prints without end
// time_limit_s: 4
const fs = require('fs');
for (;;) fs.writeSync(1, 'x'.repeat(65536));
