// verdicts: AC
// why: rewrites its own file, what node runs before it and the folder that node looks for modules in
// time_limit_s: 2
// tests: 2
const fs = require('fs');
const path = require('path');
const got = [];
for (const name of [__filename, path.join(__dirname, 'package.json'), path.join(__dirname, 'node_modules'), '/node_modules', '/usr/lib/node',
                    '/sandbox/node/preload.js', '/sandbox/node/more.js']) {
  for (const attempt of [() => fs.writeFileSync(name, ''), () => fs.unlinkSync(name), () => fs.renameSync(name, '/tmp/moved'),
                         () => fs.chmodSync(name, 0o777), () => fs.mkdirSync(name)]) {
    try {
      attempt();
      got.push(name);
    } catch (error) {}
  }
}
console.log(got.length ? got : 'contained');
