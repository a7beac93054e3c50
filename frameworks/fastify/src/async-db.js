// `/async-db`: items of a range of prices, from PostgreSQL.

import pg from 'pg';
import { database } from './config.js';
import { listOf } from './item.js';

const TEXT = `SELECT id, name, category, price, quantity, active, tags,
  rating_score, rating_count
  FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3`;
const LARGEST = 2 ** 31 - 1;

const whole = (byDefault) => ({ type: 'integer', default: byDefault });
const schema = {
  querystring: {
    type: 'object',
    properties: { min: whole(10), max: whole(50), limit: whole(50) },
  },
  response: { 200: listOf() },
};

export default async function routes(app) {
  const pool = database && new pg.Pool(database);
  // A connection that breaks while idle is replaced by the pool.
  pool?.on('error', () => {});
  app.get('/async-db', { schema }, async (request) => {
    const { min, max, limit } = request.query;
    const values = [held(min, -LARGEST, LARGEST), held(max, -LARGEST, LARGEST), held(limit, 1, 50)];
    let rows = [];
    try {
      // A named statement is prepared once on each connection.
      if (pool) ({ rows } = await pool.query({ name: 'items', text: TEXT, values }));
    } catch (error) {
      console.error(`database: ${error.message}`);
    }
    return { items: rows.map(item), count: rows.length };
  });
}

function held(value, least, most) {
  return Math.min(Math.max(value, least), most);
}

function item({ rating_score: score, rating_count: count, ...rest }) {
  return { ...rest, rating: { score, count } };
}
