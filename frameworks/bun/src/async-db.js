// `/async-db`: items of a range of prices, by Bun's own PostgreSQL driver.

import { SQL } from 'bun';
import { database } from './config.js';
import { param } from './query.js';

const LARGEST = 2 ** 31 - 1;
// How long a request waits for the database, and a connection for its making.
// The driver alone would wait on where the database is away.
const PATIENCE_S = 3;
const pool = database && new SQL(database, { connectionTimeout: PATIENCE_S });

async function inTime(query) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), 1000 * PATIENCE_S);
  });
  try {
    return await Promise.race([query, late]);
  } finally {
    clearTimeout(timer);
  }
}

export async function find(query) {
  const min = held(query, 'min', 10, -LARGEST, LARGEST);
  const max = held(query, 'max', 50, -LARGEST, LARGEST);
  const limit = held(query, 'limit', 50, 1, 50);
  if ([min, max, limit].includes(null)) return new Response(null, { status: 400 });
  let rows = [];
  try {
    if (pool) {
      rows = await inTime(pool`SELECT id, name, category, price, quantity, active, tags,
        rating_score, rating_count
        FROM items WHERE price BETWEEN ${min} AND ${max} LIMIT ${limit}`);
    }
  } catch (error) {
    console.error(`database: ${error.message}`);
  }
  return Response.json({ items: Array.from(rows, item), count: rows.length });
}

function held(query, name, byDefault, least, most) {
  const text = param(query, name) ?? String(byDefault);
  if (!/^[+-]?\d{1,15}$/.test(text)) return null;
  return Math.min(Math.max(Number(text), least), most);
}

function item({ rating_score: score, rating_count: count, ...rest }) {
  return { ...rest, rating: { score, count } };
}
