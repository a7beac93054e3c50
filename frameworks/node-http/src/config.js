// What the environment says, with the contract's defaults.

import fs from 'node:fs';

const env = process.env;

export const ports = {
  http: port('ARENA_HTTP_PORT', 8080),
  tls: port('ARENA_TLS_PORT', 8081),
  h2c: port('ARENA_H2C_PORT', 8082),
  h2: port('ARENA_H2_PORT', 8443),
};

export const datasetPath = env.DATASET_PATH || '/data/dataset.json';
export const staticDir = env.STATIC_DIR || '/data/static';

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
