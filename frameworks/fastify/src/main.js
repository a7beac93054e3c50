// One process for each CPU it may run on, by Node.js' own cluster module.

import cluster from 'node:cluster';
import { certificate, ports, workers } from './config.js';

const stop = () => process.exit(0);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

if (cluster.isPrimary) {
  supervise();
} else {
  await serve();
}

function supervise() {
  let up = false;
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
  const { default: build } = await import('./app.js');
  const host = '0.0.0.0';
  const apps = [
    [build({}), ports.http],
    [build({ http2: true }), ports.h2c],
  ];
  const pair = certificate();
  if (pair) {
    const https = { ...pair, ALPNProtocols: ['http/1.1'] };
    apps.push([build({ https }), ports.tls]);
    apps.push([build({ http2: true, https: pair }), ports.h2]);
  }
  try {
    // The backlog bears thousands of clients at once.
    for (const [app, port] of apps) await app.listen({ port, host, backlog: 4096 });
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
