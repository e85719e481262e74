// verdicts: AC
// why: node's own network stack
// time_limit_s: 2
const net = require('net');
let got = [];
const server = net.createServer();
server.on('error', () => {
  const socket = net.connect(@service_port@, '127.0.0.1');
  socket.on('connect', () => got.push('connected'));
  socket.on('error', () => {});
  socket.on('close', () => console.log(got.length ? got : 'contained'));
});
server.listen(0, '127.0.0.1', () => {
  console.log('listening');
  server.close();
});
