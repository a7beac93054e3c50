// `/upload`: counts the bytes of a body and keeps none.

/** The contract's headroom. */
const LARGEST = 25 << 20;

export default async function routes(app) {
  // The documented way to leave the body to the handler.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done) => done(null, payload));
  app.post('/upload', async (request, reply) => {
    const claimed = Number(request.headers['content-length'] ?? 0);
    if (claimed > LARGEST) return tooLarge(reply);
    let seen = 0;
    if (request.body) {
      for await (const piece of request.body) {
        seen += piece.length;
        if (seen > LARGEST) return tooLarge(reply);
      }
    }
    return reply.type('text/plain').send(String(seen));
  });
}

function tooLarge(reply) {
  return reply.code(413).header('connection', 'close').send();
}
