// verdicts: AC RE
// why: node's internal bindings, a debugger port, a signal to the parent, a native module
// time_limit_s: 2
const attempts = [
  () => require('inspector').open(9229, '127.0.0.1'),
  () => process.kill(process.ppid, 'SIGKILL'),
  () => process.kill(1, 'SIGUSR1'),
  () => process.dlopen({ exports: {} }, '/usr/lib/x86_64-linux-gnu/libc.so.6'),
  () => process.setuid(0),
  () => process.chroot && process.chroot('/tmp'),
  () => require('child_process').execSync('cat /etc/shadow', { stdio: 'pipe' }),
];
for (const attempt of attempts) {
  try {
    attempt();
  } catch (error) {}
}
console.log('contained');
process.exit(0);
