// The static files, read once: type `engine` may keep them in memory.

import fs from 'node:fs';
import path from 'node:path';
import { choose } from './encoding.js';
import { staticDir } from './config.js';

const TYPES = {
  '.css': 'text/css',
  '.js': 'application/javascript',
  '.html': 'text/html',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.json': 'application/json',
};
const SIBLINGS = { br: '.br', gzip: '.gz' };

const files = load();

function load() {
  const found = new Map();
  let names;
  try {
    names = fs.readdirSync(staticDir);
  } catch {
    return found;
  }
  for (const name of names) {
    const type = TYPES[path.extname(name)];
    if (!type) continue;
    const variants = { plain: variant(name, type) };
    const offered = [];
    for (const [coding, suffix] of Object.entries(SIBLINGS)) {
      if (!names.includes(name + suffix)) continue;
      variants[coding] = variant(name + suffix, type, coding);
      offered.push(coding);
    }
    if (offered.length) {
      for (const one of Object.values(variants)) one.headers.vary = 'Accept-Encoding';
    }
    found.set(name, { variants, offered });
  }
  return found;
}

function variant(name, type, coding) {
  const body = fs.readFileSync(path.join(staticDir, name));
  const headers = { 'content-type': type };
  if (coding) headers['content-encoding'] = coding;
  return { headers, body };
}

/** The answer for a file's name, or undefined where there is no such file. */
export function asset(name, accepts) {
  const file = files.get(name);
  if (!file) return undefined;
  const { headers, body } = file.variants[choose(accepts, file.offered) ?? 'plain'];
  return new Response(body, { headers });
}
