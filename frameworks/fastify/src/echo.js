// `/ws`: every message goes back as it came.

export default async function routes(app) {
  app.route({
    method: 'GET',
    url: '/ws',
    handler: (request, reply) => reply.code(426).header('upgrade', 'websocket').send(),
    wsHandler: (socket) => {
      socket.on('message', (message, isBinary) => {
        socket.send(message, { binary: isBinary });
      });
      // A frame that is no frame: the library has answered and closed.
      socket.on('error', () => {});
    },
  });
}
