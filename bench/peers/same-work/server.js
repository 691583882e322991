// Bare node:http doing a list and a create as the service does them: the same bytes on the wire, a key by its hash, two
// windows, a request id, an ETag that a caller may send back, creates that share a commit to disk.
// Does less than the service: two paths, found by comparing strings; one list, ready-made; counts are never saved,
// nobody is banned, nothing is measured or bounded; malformed requests are Node's, bodies are checked for little.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;
const LIMIT = 1_000_000_000;
const POLICY = `"minute";q=${LIMIT};w=${MINUTE_SECONDS}, "day";q=${LIMIT};w=${DAY_SECONDS}`;
const STRING_BYTES_MAX = 16 * 1024;
const BODY_BYTES_MAX = 16 * 1024;
/** As many creates as the service stores with one commit. */
const BATCH_MAX = 64;
/** As the service, so that the same head is sent. */
const KEEP_ALIVE_MS = 65_000;

const list = readFileSync(process.env.LIST_FILE);
// A string sends a small body faster, the bytes a large one.
const body = list.length < STRING_BYTES_MAX ? list.toString() : list;
const etag = `"1-${hash('sha256', list, 'base64url')}"`;
const keys = new Map(
  readFileSync(process.env.KEYS_FILE, 'utf8')
    .trim()
    .split('\n')
    .map((secret) => [hash('sha256', secret), { minuteEnds: 0, minuteUsed: 0, day: 0, dayUsed: 0 }]),
);

/** Counts a request in both windows, or in neither, and tells their state. */
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
  const [minuteLeft, dayLeft] = [LIMIT - state.minuteUsed, LIMIT - state.dayUsed];
  const dayEnds = (day + 1) * DAY_SECONDS;
  const byMinute = minuteLeft <= dayLeft;
  const headers = [
    ...['X-RateLimit-Limit', `${LIMIT}`, 'X-RateLimit-Remaining', `${byMinute ? minuteLeft : dayLeft}`],
    ...['X-RateLimit-Reset', `${byMinute ? state.minuteEnds : dayEnds}`, 'RateLimit-Policy', POLICY, 'RateLimit'],
    `"minute";r=${minuteLeft};t=${state.minuteEnds - now}, "day";r=${dayLeft};t=${dayEnds - now}`,
  ];
  return { isAdmitted, headers };
}

const database = new DatabaseSync(process.env.DATABASE_FILE);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec('CREATE TABLE categories (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT)');
const insert = database.prepare('INSERT INTO categories (name, description) VALUES (?, ?)');
const waiting = [];

/** Stores what the turns before brought, in one transaction, and answers it. */
function commit() {
  const batch = waiting.splice(0, BATCH_MAX);
  database.exec('BEGIN');
  for (const create of batch) create.id = Number(insert.run(create.name, create.description).lastInsertRowid);
  database.exec('COMMIT');
  for (const create of batch) create.answer(create);
  if (waiting.length > 0) setImmediate(commit);
}

let requests = 0;
const prefix = hash('sha256', `${process.pid} ${Date.now()}`, 'base64url').slice(0, 16);

/** The headers that every answer has. */
function common(limits) {
  requests += 1;
  limits.push('X-Request-Id', `${prefix}.${requests}`, 'X-Content-Type-Options', 'nosniff');
  limits.push('Cache-Control', 'private, no-cache');
  return limits;
}

function answerList(request, response, headers) {
  headers.push('ETag', etag);
  if (request.headers['if-none-match'] === etag) return response.writeHead(304, headers).end();
  headers.push('Content-Type', 'application/json', 'Content-Length', `${list.length}`);
  response.writeHead(200, headers).end(body);
}

function answerCreate(request, response, headers) {
  let [text, length] = ['', 0];
  request.on('data', (chunk) => {
    length += chunk.length;
    text += chunk;
  });
  request.on('end', () => {
    const { name, description } = JSON.parse(text);
    const isValid = length <= BODY_BYTES_MAX && typeof name === 'string' && name.trim() !== '';
    if (!isValid) return response.writeHead(400, headers).end();
    const answer = ({ id }) => {
      const created = JSON.stringify({ id, name, description });
      headers.push(
        'Location',
        `/v1/categories/${id}`,
        'ETag',
        `"${hash('sha256', created, 'base64url').slice(0, 22)}"`,
      );
      headers.push('Content-Type', 'application/json', 'Content-Length', `${Buffer.byteLength(created)}`);
      response.writeHead(201, headers).end(created);
    };
    if (waiting.push({ name, description: description ?? null, id: 0, answer }) === 1) setImmediate(commit);
  });
}

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
  const { authorization = '' } = request.headers;
  const state = authorization.startsWith('Bearer ') ? keys.get(hash('sha256', authorization.slice(7))) : undefined;
  if (!state) return response.writeHead(401).end();
  const { isAdmitted, headers } = charge(state);
  common(headers);
  if (!isAdmitted) return response.writeHead(429, headers).end();
  if (request.url !== '/v1/categories') return response.writeHead(404, headers).end();
  if (request.method === 'GET') return answerList(request, response, headers);
  answerCreate(request, response, headers);
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
