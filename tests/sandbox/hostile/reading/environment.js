// verdicts: AC
// why: the same in node, and what its process object tells of the way it was started
// time_limit_s: 2
const fs = require('fs');
const known = new Set(['PATH', 'LANG', 'LC_ALL', 'HOME', 'TMPDIR', 'PWD', 'USER', 'TZ']);
const got = Object.keys(process.env).filter((name) => !known.has(name));
for (const path of ['/etc/passwd', '/etc/shadow', '/proc/1/environ', '@repository@', '@state@']) {
  try {
    got.push([path, fs.statSync(path).isDirectory() ? 'a folder' : fs.readFileSync(path, 'utf8').slice(0, 20)]);
  } catch (error) {}
}
const told = JSON.stringify([process.argv, process.execArgv, process.title, process.report.getReport().header]);
for (const secret of ['@repository@', '@state@', 'planted']) if (told.includes(secret)) got.push(told);
console.log(got.length ? got : 'contained');
