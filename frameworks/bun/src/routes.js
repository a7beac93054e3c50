// From a request to an answer.

import { asset } from './assets.js';
import { find } from './async-db.js';
import { listing } from './dataset.js';
import { choose, encode } from './encoding.js';
import { param, split } from './query.js';
import { sum } from './sum.js';
import { upload } from './upload.js';

const CODINGS = ['br', 'gzip'];
/** Below this a coded document is hardly smaller than its own headers. */
const WORTH_CODING = 256;
/** A number with any white space around it is far below this. */
const LARGEST_NUMBER = 64 << 10;
const TEXT = { headers: { 'content-type': 'text/plain' } };

/** An answer, or a promise of one; undefined after an upgrade. */
export function route(request, server) {
  const { path, query } = split(request.url);
  const { method } = request;
  if (method === 'POST') {
    if (path === '/baseline11') return posted(request, query);
    if (path === '/upload') return upload(request);
  }
  const reads = method === 'GET' || method === 'HEAD';
  if (path === '/baseline11' || path === '/baseline2') return reads ? total(query) : fail(405);
  if (path === '/pipeline') return reads ? text('ok') : fail(405);
  if (path === '/upload') return fail(405);
  if (path === '/async-db') return reads ? find(query) : fail(405);
  if (path === '/ws') {
    return server.upgrade(request) ? undefined : fail(426);
  }
  if (path.startsWith('/json/')) {
    return reads ? document(path.slice(6), query, request) : fail(405);
  }
  if (path.startsWith('/static/')) {
    if (!reads) return fail(405);
    return asset(path.slice(8), request.headers.get('accept-encoding')) ?? fail(404);
  }
  return fail(404);
}

export function text(body) {
  return new Response(body, TEXT);
}

export function fail(status, headers) {
  return new Response(null, { status, headers });
}

/** The sum of the parameters and, where there is one, of the body. */
function total(query, body) {
  const terms = [param(query, 'a'), param(query, 'b')];
  if (body !== undefined) terms.push(body.trim());
  const result = sum(terms);
  return result === null ? fail(400) : text(result);
}

async function posted(request, query) {
  if (Number(request.headers.get('content-length')) > LARGEST_NUMBER) return fail(413);
  return total(query, await request.text());
}

function document(count, query, request) {
  const body = listing(count, param(query, 'm'));
  if (body === null) return fail(400);
  const headers = { 'content-type': 'application/json' };
  const accepts = request.headers.get('accept-encoding');
  if (!accepts) return new Response(body, { headers });
  headers.vary = 'Accept-Encoding';
  const coding = body.length < WORTH_CODING ? undefined : choose(accepts, CODINGS);
  if (!coding) return new Response(body, { headers });
  headers['content-encoding'] = coding;
  return new Response(encode(coding, Buffer.from(body)), { headers });
}
