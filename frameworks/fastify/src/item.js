// What an item looks like in an answer: Fastify makes a serialiser of it.

const integer = { type: 'integer' };
const string = { type: 'string' };

const properties = {
  id: integer,
  name: string,
  category: string,
  price: integer,
  quantity: integer,
  active: { type: 'boolean' },
  tags: { type: 'array', items: string },
  rating: { type: 'object', properties: { score: integer, count: integer } },
};

/** The schema of a list of items, with `more` properties in each. */
export function listOf(more) {
  const items = { type: 'object', properties: { ...properties, ...more } };
  return {
    type: 'object',
    properties: { items: { type: 'array', items }, count: integer },
  };
}
