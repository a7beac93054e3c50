// HTTP/2: streams of the core API, which spares the objects that make them
// look like HTTP/1.1.

import http2 from 'node:http2';
import { failures, get } from './routes.js';
import { split } from './query.js';

export function cleartext() {
  return serving(http2.createServer());
}

export function overTls(pair) {
  return serving(http2.createSecureServer({ ...pair, allowHTTP1: false }));
}

function serving(server) {
  server.on('stream', (stream, headers) => {
    // A stream that is reset, or a session that breaks, harms no other.
    stream.on('error', ignore);
    stream.resume();
    const head = headers[':method'] === 'HEAD';
    const { path, query } = split(headers[':path'] ?? '');
    const answer = head || headers[':method'] === 'GET'
      ? get(path, query, headers['accept-encoding'])
      : failures[405];
    if (stream.destroyed) return;
    stream.respond({ ':status': answer.status, ...answer.headers }, { endStream: head });
    if (!head) stream.end(answer.body);
  });
  server.on('sessionError', ignore);
  return server;
}

function ignore() {}
