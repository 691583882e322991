// Express with express-rate-limit, and SQLite with a commit to disk for each create, as such services are usually made.
// Does less than the service: one window instead of two, no bans, counts never saved, the keys in memory as they are,
// no request id, no RateLimit pair, no nosniff; a name is checked for being a string and no more. The list is
// ready-made; Express adds its weak ETag. The database is a real file in WAL mode with synchronous=FULL, as ours is.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import express from 'express';
import { rateLimit } from 'express-rate-limit';

const list = readFileSync(process.env.LIST_FILE, 'utf8');
const keys = new Set(
  readFileSync(process.env.KEYS_FILE, 'utf8')
    .trim()
    .split('\n')
    .map((secret) => `Bearer ${secret}`),
);

const database = new DatabaseSync(process.env.DATABASE_FILE);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
database.exec('CREATE TABLE categories (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT)');
database.exec('CREATE TABLE pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER)');
const insertCategory = database.prepare('INSERT INTO categories (name, description) VALUES (?, ?)');
const insertPet = database.prepare('INSERT INTO pets (name, category_id) VALUES (?, ?)');

const app = express();
app.use((request, response, next) => {
  if (keys.has(request.headers.authorization)) next();
  else response.status(401).json({ code: 'invalid_api_key', message: 'The API key is not valid', status: 401 });
});
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: 1_000_000_000,
    keyGenerator: (request) => request.headers.authorization,
  }),
);
app.get('/v1/categories', (_request, response) => response.type('application/json').send(list));
app.post('/v1/categories', express.json(), (request, response) => {
  const { name, description } = request.body;
  if (typeof name !== 'string') return response.status(400).json({ code: 'validation_failed', status: 400 });
  const { lastInsertRowid: id } = insertCategory.run(name, description ?? null);
  response.status(201).location(`/v1/categories/${id}`).json({ id, name, description });
});
app.post('/v1/pets', express.json(), (request, response) => {
  const { name, categoryId } = request.body;
  if (typeof name !== 'string') return response.status(400).json({ code: 'validation_failed', status: 400 });
  const { lastInsertRowid: id } = insertPet.run(name, categoryId);
  response.status(201).location(`/v1/pets/${id}`).json({ id, name, categoryId });
});
const server = app.listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
