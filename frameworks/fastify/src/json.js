// `/json/:count`: the first items of the dataset, each with its total.

import fs from 'node:fs';
import { datasetPath } from './config.js';
import { listOf } from './item.js';

const dataset = JSON.parse(fs.readFileSync(datasetPath, 'utf8'));

const schema = {
  params: {
    type: 'object',
    properties: { count: { type: 'integer', minimum: 0 } },
  },
  querystring: {
    type: 'object',
    properties: { m: { type: 'integer', default: 1 } },
  },
  response: { 200: listOf({ total: { type: 'integer' } }) },
};

export default async function routes(app) {
  // Without zstd, which the plugin would prefer and the contract has not.
  const compress = { encodings: ['br', 'gzip'] };
  app.get('/json/:count', { schema, compress }, (request, reply) => {
    const { m } = request.query;
    const items = dataset.slice(0, request.params.count).map((item) => ({
      ...item,
      total: item.price * item.quantity * m,
    }));
    if (!items.every(({ total }) => Number.isSafeInteger(total))) {
      return reply.code(400).send();
    }
    return reply.send({ items, count: items.length });
  });
}
