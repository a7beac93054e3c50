// One process for each CPU it may run on, all of them listening themselves.

import { certificate, ports, workers } from './config.js';

if (process.env.ARENA_WORKER) await serve();
else supervise();

function supervise() {
  const children = [];
  let stopping = false;
  const stop = (status) => {
    stopping = true;
    for (const child of children) child.kill('SIGKILL');
    process.exit(status);
  };
  process.on('SIGTERM', () => stop(0));
  process.on('SIGINT', () => stop(0));
  for (let i = 0; i < workers; i++) {
    const child = Bun.spawn([process.execPath, import.meta.path], {
      env: { ...process.env, ARENA_WORKER: '1' },
      stdio: ['ignore', 'inherit', 'inherit'],
      onExit: () => stopping || stop(1),
    });
    children.push(child);
  }
  console.log(`listening on http://0.0.0.0:${ports.http}, ${workers} processes`);
}

/** Over HTTP/2, only its end shows that a body has its promised length. */
function checked(route) {
  return async (request, server) => {
    const promised = request.headers.get('content-length');
    if (promised !== null) {
      const { byteLength } = await request.clone().arrayBuffer();
      if (byteLength !== Number(promised)) return new Response(null, { status: 400 });
    }
    return route(request, server);
  };
}

async function serve() {
  process.on('SIGTERM', () => process.exit(0));
  const { route } = await import('./routes.js');
  const { websocket } = await import('./ws.js');
  const settings = {
    hostname: '0.0.0.0',
    // Each process has a socket of its own.
    reusePort: true,
    idleTimeout: 75,
    development: false,
    maxRequestBodySize: 32 << 20,
    fetch: route,
    error: () => new Response(null, { status: 500 }),
    websocket,
  };
  Bun.serve({ ...settings, port: ports.http });
  const tls = certificate();
  if (!tls) return;
  Bun.serve({ ...settings, port: ports.tls, tls });
  Bun.serve({ ...settings, fetch: checked(route), port: ports.h2, tls, http2: true });
}
