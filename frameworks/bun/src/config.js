// What the environment says, with the contract's defaults.

import fs from 'node:fs';
import os from 'node:os';

const env = process.env;

export const ports = {
  http: port('ARENA_HTTP_PORT', 8080),
  tls: port('ARENA_TLS_PORT', 8081),
  h2: port('ARENA_H2_PORT', 8443),
};

export const datasetPath = env.DATASET_PATH || '/data/dataset.json';
export const staticDir = env.STATIC_DIR || '/data/static';

/** One process for each CPU this one may run on. */
export const workers = os.availableParallelism();

export const database = env.DATABASE_URL && {
  url: env.DATABASE_URL,
  // The connections are for all processes together.
  max: Math.max(1, Math.floor(Number(env.DATABASE_MAX_CONN || 64) / workers)),
};

/** Certificate and key, or null where there are none. */
export function certificate() {
  try {
    return {
      cert: fs.readFileSync(env.TLS_CERT || '/certs/server.crt'),
      key: fs.readFileSync(env.TLS_KEY || '/certs/server.key'),
    };
  } catch {
    return null;
  }
}

function port(name, byDefault) {
  const value = Number(env[name] || byDefault);
  if (Number.isInteger(value) && value > 0 && value < 65536) return value;
  throw new Error(`${name}: expected a port, found ${env[name]}`);
}
