// `/upload`: counts the bytes of a body and keeps none.

import { fail, text } from './routes.js';

/** The contract's headroom. */
export const LARGEST_UPLOAD = 25 << 20;

export async function upload(request) {
  if (Number(request.headers.get('content-length')) > LARGEST_UPLOAD) return fail(413);
  let seen = 0;
  if (request.body) {
    for await (const piece of request.body) {
      seen += piece.length;
      if (seen > LARGEST_UPLOAD) return fail(413);
    }
  }
  return text(String(seen));
}
