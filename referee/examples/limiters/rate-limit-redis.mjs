import { randomUUID } from 'node:crypto';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { createClient } from 'redis';

const [port] = process.argv.slice(2);
const client = await createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }).connect();
const store = new RedisStore({ prefix: randomUUID(), sendCommand: (...words) => client.sendCommand(words) });
const app = express();
const keyGenerator = (request) => request.get('x-api-key');
app.use(
  rateLimit({ windowMs: 10_000, limit: 20, keyGenerator, store, standardHeaders: 'draft-8', legacyHeaders: false }),
);
app.all('/', (_, response) => response.json({}));
app.listen(port, '127.0.0.1');
