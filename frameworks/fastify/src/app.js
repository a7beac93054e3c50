// The application: plugins and routes, the same on every port.

import fastify from 'fastify';
import compress from '@fastify/compress';
import websocket from '@fastify/websocket';
import statics from '@fastify/static';
import { staticDir } from './config.js';
import asyncDb from './async-db.js';
import echo from './echo.js';
import json from './json.js';
import sum from './sum.js';
import upload from './upload.js';

export default function build(options) {
  const app = fastify(options);
  if (!options.http2) {
    app.addHook('onRequest', http09);
    app.register(websocket);
    app.register(echo);
  }
  app.register(compress, { global: false });
  app.register(statics, { root: staticDir, prefix: '/static/' });
  app.get('/pipeline', (request, reply) => reply.type('text/plain').send('ok'));
  app.register(sum);
  app.register(json);
  app.register(upload);
  app.register(asyncDb);
  return app;
}

/** Node.js' parser takes a line without a version for HTTP/0.9. */
function http09(request, reply, done) {
  if (request.raw.httpVersionMajor < 1) return reply.code(505).send();
  done();
}
