import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';

const [port, options] = process.argv.slice(2);
const app = new Hono();
const keyGenerator = (c) => c.req.header('x-api-key');
app.use(rateLimiter({ windowMs: 10_000, limit: 20, keyGenerator, ...JSON.parse(options) }));
app.all('/', (c) => c.json({}));
serve({ fetch: app.fetch, port: Number(port), hostname: '127.0.0.1' });
