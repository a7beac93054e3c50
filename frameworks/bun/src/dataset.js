// The dataset, and the documents made of it for each request.

import fs from 'node:fs';
import { datasetPath } from './config.js';

const items = JSON.parse(fs.readFileSync(datasetPath, 'utf8'));

/** The document of `count` items, or null where either is no fit number. */
export function listing(count, m) {
  if (!/^\d{1,9}$/.test(count)) return null;
  if (m !== undefined && !/^[+-]?\d{1,15}$/.test(m)) return null;
  const times = m === undefined ? 1 : Number(m);
  const listed = Math.min(Number(count), items.length);
  const out = new Array(listed);
  for (let i = 0; i < listed; i++) {
    const item = items[i];
    const total = item.price * item.quantity * times;
    if (!Number.isSafeInteger(total)) return null;
    out[i] = {
      id: item.id,
      name: item.name,
      category: item.category,
      price: item.price,
      quantity: item.quantity,
      active: item.active,
      tags: item.tags,
      rating: { score: item.rating.score, count: item.rating.count },
      // A minus zero would be written as 0 anyway; this keeps it an integer.
      total: total + 0,
    };
  }
  return JSON.stringify({ items: out, count: listed });
}
