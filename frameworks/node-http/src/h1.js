// HTTP/1.1, in cleartext with WebSocket beside it, and over TLS.

import http from 'node:http';
import https from 'node:https';
import { failures, get, plain, total } from './routes.js';
import { split } from './query.js';
import { echo, isHandshake } from './ws.js';

/** The contract's headroom for uploads. */
const LARGEST_UPLOAD = 25 << 20;
/** A number with any white space around it is far below this. */
const LARGEST_NUMBER = 64 << 10;

const SETTINGS = {
  // A client that thinks for five seconds is not cut off.
  keepAliveTimeout: 75_000,
  shouldUpgradeCallback: isHandshake,
};

export function cleartext() {
  const server = http.createServer(SETTINGS, handle);
  server.on('upgrade', echo);
  return server;
}

export function overTls(pair) {
  // Nothing is upgraded here, so that a handshake is an ordinary GET.
  const settings = { ...SETTINGS, shouldUpgradeCallback: () => false };
  return https.createServer({ ...settings, ...pair, ALPNProtocols: ['http/1.1'] }, handle);
}

function handle(req, res) {
  // The parser takes a line without a version for HTTP/0.9.
  if (req.httpVersionMajor < 1) return void req.socket.destroy();
  const { path, query } = split(req.url);
  const { method } = req;
  if (method === 'GET' || method === 'HEAD') {
    if (path === '/ws') return send(res, failures[426]);
    if (path === '/upload') return send(res, failures[405]);
    return send(res, get(path, query, req.headers['accept-encoding']));
  }
  if (method === 'POST' && path === '/baseline11') {
    return read(req, res, LARGEST_NUMBER, (text) => total(query, text));
  }
  if (method === 'POST' && path === '/upload') return count(req, res);
  const known = get(path, query, '').status !== 404 || path === '/upload';
  send(res, failures[known ? 405 : 404]);
}

function send(res, { status, headers, body }) {
  res.writeHead(status, headers);
  res.end(body);
}

/** Reads a small body whole; one that breaks off is never answered. */
function read(req, res, most, answer) {
  let text = '';
  req.setEncoding('latin1');
  req.on('data', (piece) => {
    if (text.length <= most) text += piece;
  });
  req.on('end', () => send(res, text.length > most ? failures[413] : answer(text)));
  req.on('error', ignore);
}

/** Counts the bytes of a body, keeping none. */
function count(req, res) {
  if (Number(req.headers['content-length']) > LARGEST_UPLOAD) {
    return send(res, failures[413]);
  }
  let seen = 0;
  req.on('data', (piece) => {
    seen += piece.length;
    if (seen > LARGEST_UPLOAD && !res.headersSent) send(res, failures[413]);
  });
  req.on('end', () => {
    if (!res.headersSent) send(res, plain(200, String(seen)));
  });
  req.on('error', ignore);
}

/** A client that went away needs no answer. */
function ignore() {}
