// Bare node:http doing the essential job: bearer look-up by hash, two windows, three headers, a ready-made body.
// Does less than the service: no request id, no RateLimit pair, no ETag, no nosniff or Cache-Control; one route, found
// by comparing strings; counts are never saved, nobody is banned, nothing is measured; malformed requests are Node's.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;
const LIMIT = 1_000_000_000;
const STRING_BYTES_MAX = 16 * 1024;

const list = readFileSync(process.env.LIST_FILE);
// A string sends a small body faster, the bytes a large one.
const body = list.length < STRING_BYTES_MAX ? list.toString() : list;
const keys = new Map(
  readFileSync(process.env.KEYS_FILE, 'utf8')
    .trim()
    .split('\n')
    .map((secret) => [hash('sha256', secret), { minuteEnds: 0, minuteUsed: 0, day: 0, dayUsed: 0 }]),
);

/** Counts a request in both windows, or in neither. */
function charge(state) {
  const now = Math.floor(Date.now() / 1000);
  const day = Math.floor(now / DAY_SECONDS);
  if (day > state.day) {
    state.day = day;
    state.dayUsed = 0;
  }
  if (now >= state.minuteEnds) {
    state.minuteEnds = now + MINUTE_SECONDS;
    state.minuteUsed = 0;
  }
  const isAdmitted = state.minuteUsed < LIMIT && state.dayUsed < LIMIT;
  if (isAdmitted) {
    state.minuteUsed += 1;
    state.dayUsed += 1;
  }
  const byMinute = LIMIT - state.minuteUsed <= LIMIT - state.dayUsed;
  return {
    isAdmitted,
    remaining: LIMIT - (byMinute ? state.minuteUsed : state.dayUsed),
    reset: byMinute ? state.minuteEnds : (day + 1) * DAY_SECONDS,
  };
}

const server = createServer((request, response) => {
  const { authorization = '' } = request.headers;
  const state = authorization.startsWith('Bearer ') ? keys.get(hash('sha256', authorization.slice(7))) : undefined;
  if (!state) return response.writeHead(401).end();
  const { isAdmitted, remaining, reset } = charge(state);
  const limits = [
    ...['X-RateLimit-Limit', `${LIMIT}`, 'X-RateLimit-Remaining', `${remaining}`],
    ...['X-RateLimit-Reset', `${reset}`],
  ];
  if (!isAdmitted) return response.writeHead(429, limits).end();
  if (request.url !== '/v1/categories') return response.writeHead(404, limits).end();
  const length = `${list.length}`;
  response.writeHead(200, [...limits, 'Content-Type', 'application/json', 'Content-Length', length]).end(body);
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
