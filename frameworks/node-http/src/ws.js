// WebSocket by the `ws` package.

import { WebSocketServer } from 'ws';
import { split } from './query.js';

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: 16 << 20,
});

/** Whether a request is a handshake for the echo, and not some other upgrade. */
export function isHandshake(req) {
  return req.headers.upgrade?.toLowerCase() === 'websocket'
    && split(req.url).path === '/ws';
}

export function echo(req, socket, head) {
  server.handleUpgrade(req, socket, head, (client) => {
    // Messages that came in one read are answered in one write.
    let held = false;
    client.on('message', (message, isBinary) => {
      if (!held) {
        held = true;
        socket.cork();
        setImmediate(() => {
          held = false;
          socket.uncork();
        });
      }
      client.send(message, { binary: isBinary });
    });
    client.on('error', ignore);
  });
}

function ignore() {}
