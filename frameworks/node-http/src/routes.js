// From a request to an answer, whatever the protocol: an answer is
// `{ status, headers, body }` with names in lower case and a whole body.

import { asset } from './assets.js';
import { listing } from './dataset.js';
import { choose, encode } from './encoding.js';
import { param } from './query.js';
import { sum } from './sum.js';

const CODINGS = ['br', 'gzip'];
/** Below this a coded document is hardly smaller than its own headers. */
const WORTH_CODING = 256;

export const failures = {
  400: plain(400, 'bad request\n'),
  404: plain(404, 'not found\n'),
  405: plain(405, 'method not allowed\n'),
  413: plain(413, 'too large\n', { connection: 'close' }),
  426: plain(426, 'websocket only\n', { connection: 'upgrade', upgrade: 'websocket' }),
};

/** Answers GET and HEAD; undefined where another method has the path. */
export function get(path, query, accepts) {
  if (path === '/baseline11' || path === '/baseline2') return total(query);
  if (path === '/pipeline') return plain(200, 'ok');
  if (path.startsWith('/json/')) return document(path.slice(6), query, accepts);
  if (path.startsWith('/static/')) {
    return asset(path.slice(8), accepts) ?? failures[404];
  }
  return failures[404];
}

/** The sum of the parameters and, where there is one, of the body. */
export function total(query, body) {
  const terms = [param(query, 'a'), param(query, 'b')];
  if (body !== undefined) terms.push(body.trim());
  const result = sum(terms);
  return result === null ? failures[400] : plain(200, result);
}

function document(count, query, accepts) {
  const text = listing(count, param(query, 'm'));
  if (text === null) return failures[400];
  const headers = { 'content-type': 'application/json' };
  let body = text;
  if (accepts) {
    headers.vary = 'Accept-Encoding';
    const coding = text.length < WORTH_CODING ? undefined : choose(accepts, CODINGS);
    if (coding) {
      headers['content-encoding'] = coding;
      body = encode(coding, Buffer.from(text));
    }
  }
  headers['content-length'] = Buffer.byteLength(body);
  return { status: 200, headers, body };
}

export function plain(status, body, more) {
  const headers = { 'content-type': 'text/plain', 'content-length': body.length };
  return { status, headers: more ? { ...headers, ...more } : headers, body };
}
