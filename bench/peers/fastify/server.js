// Fastify with its official plugins for bearer keys and rate limits, as their manuals show them.
// Does less than the service: one window instead of two, no bans, counts never saved, the keys in memory as they are,
// no request id header, no ETag, no RateLimit pair, no nosniff; the body is ready-made.
import { readFileSync } from 'node:fs';
import bearerAuth from '@fastify/bearer-auth';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';

const list = readFileSync(process.env.LIST_FILE, 'utf8');
const keys = new Set(readFileSync(process.env.KEYS_FILE, 'utf8').trim().split('\n'));

const app = fastify();
await app.register(bearerAuth, { keys });
await app.register(rateLimit, {
  max: 1_000_000_000,
  timeWindow: '1 minute',
  keyGenerator: (request) => request.headers.authorization,
});
app.get('/v1/categories', (_request, reply) => {
  reply.header('Content-Type', 'application/json').send(list);
});
const address = await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
console.log(`listening on ${address}`);
