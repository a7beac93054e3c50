// `/baseline11` and `/baseline2`: the sum of two parameters and, for POST, of
// the body. The schema lets only integers through; 64 bits are looked at here.

const integer = { type: 'string', pattern: '^[+-]?[0-9]{1,40}$' };
const schema = {
  querystring: {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: integer, b: integer },
  },
};
const LARGEST_NUMBER = 64 << 10;

export default async function routes(app) {
  // The body is a number in text, whatever type it says or does not say.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: LARGEST_NUMBER }, text);
  const bodySchema = { ...schema, body: integer };
  for (const url of ['/baseline11', '/baseline2']) {
    app.get(url, { schema }, (request, reply) => {
      const { a, b } = request.query;
      return answer(reply, [a, b]);
    });
    app.route({
      method: ['PUT', 'PATCH', 'DELETE'],
      url,
      handler: (request, reply) => reply.code(405).header('allow', 'GET, HEAD, POST').send(),
    });
  }
  app.post('/baseline11', { schema: bodySchema }, (request, reply) => {
    const { a, b } = request.query;
    return answer(reply, [a, b, request.body]);
  });
}

function text(request, body, done) {
  done(null, body.trim());
}

function answer(reply, terms) {
  const total = terms.every(isShort) ? short(terms) : long(terms);
  if (total === null) return reply.code(400).send();
  return reply.type('text/plain').send(String(total));
}

function isShort(term) {
  return term.length < 16;
}

/** Below 2^53 numbers are exact, and quicker than BigInt. */
function short(terms) {
  return terms.reduce((sum, term) => sum + Number(term), 0);
}

function long(terms) {
  const values = terms.map((term) => BigInt(term.replace(/^\+/, '')));
  const sum = values.reduce((one, other) => one + other, 0n);
  return [...values, sum].every(fits) ? sum : null;
}

function fits(value) {
  return BigInt.asIntN(64, value) === value;
}
