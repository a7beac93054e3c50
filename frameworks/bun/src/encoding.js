// Content codings: which one a client takes, and making it.

import zlib from 'node:zlib';

/**
 * The best of `offered` that an `Accept-Encoding` allows, or undefined. Of
 * equal weights the first offered wins.
 */
export function choose(header, offered) {
  if (!header) return undefined;
  const weights = new Map();
  for (const part of header.split(',')) {
    const [name, ...settings] = part.split(';');
    let weight = 1;
    for (const setting of settings) {
      const [key, value] = setting.split('=');
      if (key.trim().toLowerCase() === 'q') weight = Number(value) || 0;
    }
    weights.set(name.trim().toLowerCase(), weight);
  }
  let best;
  let most = 0;
  for (const name of offered) {
    const alias = name === 'gzip' ? weights.get('x-gzip') : undefined;
    const weight = weights.get(name) ?? alias ?? weights.get('*') ?? 0;
    if (weight > most) [best, most] = [name, weight];
  }
  return best;
}

/** Compressed on this thread: a document of 9 KB is not worth a hand-over. */
export function encode(coding, bytes) {
  if (coding === 'gzip') return zlib.gzipSync(bytes, { level: 6 });
  const { constants: c } = zlib;
  return zlib.brotliCompressSync(bytes, {
    params: {
      [c.BROTLI_PARAM_QUALITY]: 4,
      [c.BROTLI_PARAM_LGWIN]: 16,
      [c.BROTLI_PARAM_MODE]: c.BROTLI_MODE_TEXT,
      [c.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}
