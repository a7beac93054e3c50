// One process for each CPU it may run on, all of them listening themselves.

import cluster from 'node:cluster';
import os from 'node:os';
import { certificate, ports } from './config.js';

const stop = () => process.exit(0);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

if (cluster.isPrimary) {
  supervise();
} else {
  await serve();
}

function supervise() {
  // Short-lived objects die young, also at thousands of connections.
  cluster.setupPrimary({ execArgv: ['--max-semi-space-size=64'] });
  let up = false;
  const workers = os.availableParallelism();
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('listening', (_, { port }) => {
    if (!up && port === ports.http) {
      up = true;
      console.log(`listening on http://0.0.0.0:${port}, ${workers} processes`);
    }
  });
  cluster.on('exit', (worker, code, signal) => {
    if (!up) process.exit(1);
    console.error(`process ${worker.process.pid} ended: ${signal ?? code}`);
    cluster.fork();
  });
}

async function serve() {
  const h1 = await import('./h1.js');
  const h2 = await import('./h2.js');
  const pair = certificate();
  listen(h1.cleartext(), ports.http);
  listen(h2.cleartext(), ports.h2c);
  if (!pair) return;
  listen(h1.overTls(pair), ports.tls);
  listen(h2.overTls(pair), ports.h2);
}

function listen(server, port) {
  server.on('error', (error) => {
    console.error(`port ${port}: ${error.message}`);
    process.exit(1);
  });
  // Each process has a socket of its own (SO_REUSEPORT): nothing is handed
  // over between them. The backlog bears thousands of clients at once.
  server.listen({ port, host: '0.0.0.0', reusePort: true, backlog: 4096 });
}
