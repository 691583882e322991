/** Rate limiters of the registry, each as a server of one route with 20 requests in 10 s for each `X-Api-Key`. */

export interface RegistryLimiter {
  readonly name: string;
  /** From npm; the first is the limiter. */
  readonly packages: readonly string[];
  /** Listens on `port`, in JavaScript; a configuration for nginx. */
  readonly code: string;
}

const express = (options: string) => `import express from 'express';
import { rateLimit } from 'express-rate-limit';
const app = express();
app.use(rateLimit({ windowMs: 10_000, limit: 20, keyGenerator: (request) => request.get('x-api-key'), ${options} }));
app.all('/', (request, response) => response.json({}));
app.listen(port, '127.0.0.1');`;

const fastify = (options: string) => `import Fastify from 'fastify';
import rateLimit from '@fastify/rate-limit';
const app = Fastify();
await app.register(rateLimit, { max: 20, timeWindow: 10_000, keyGenerator: (request) => request.headers['x-api-key'], ${options} });
app.route({ method: ['GET', 'POST'], url: '/', handler: async () => ({}) });
await app.listen({ port, host: '127.0.0.1' });`;

const hono = (standardHeaders: string) => `import { Hono } from 'hono';
import { serve } from '@hono/node-server';
import { rateLimiter } from 'hono-rate-limiter';
const app = new Hono();
app.use(rateLimiter({ windowMs: 10_000, limit: 20, standardHeaders: '${standardHeaders}', keyGenerator: (c) => c.req.header('x-api-key') }));
app.all('/', (c) => c.json({}));
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });`;

const EXPRESS = ['express-rate-limit', 'express'];
const FASTIFY = ['@fastify/rate-limit', 'fastify'];
const HONO = ['hono-rate-limiter', 'hono', '@hono/node-server'];

export const LIMITERS: readonly RegistryLimiter[] = [
  { name: 'as it comes', packages: EXPRESS, code: express('') },
  { name: 'draft-6', packages: EXPRESS, code: express("standardHeaders: 'draft-6', legacyHeaders: false") },
  { name: 'draft-7', packages: EXPRESS, code: express("standardHeaders: 'draft-7', legacyHeaders: false") },
  { name: 'draft-8', packages: EXPRESS, code: express("standardHeaders: 'draft-8', legacyHeaders: false") },
  {
    name: 'with the headers of its guide',
    packages: ['rate-limiter-flexible', 'express'],
    code: `import express from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
const limiter = new RateLimiterMemory({ points: 20, duration: 10 });
const app = express();
app.use(async (request, response, next) => {
  const tell = (state) => response.set({
    'Retry-After': state.msBeforeNext / 1000,
    'X-RateLimit-Limit': 20,
    'X-RateLimit-Remaining': state.remainingPoints,
    'X-RateLimit-Reset': Math.ceil((Date.now() + state.msBeforeNext) / 1000),
  });
  try {
    tell(await limiter.consume(request.get('x-api-key')));
    next();
  } catch (state) {
    tell(state);
    response.status(429).json({});
  }
});
app.all('/', (request, response) => response.json({}));
app.listen(port, '127.0.0.1');`,
  },
  { name: 'as it comes', packages: FASTIFY, code: fastify('') },
  { name: 'enableDraftSpec', packages: FASTIFY, code: fastify('enableDraftSpec: true') },
  { name: 'draft-6', packages: HONO, code: hono('draft-6') },
  { name: 'draft-7', packages: HONO, code: hono('draft-7') },
  {
    name: 'in memory',
    packages: ['koa-ratelimit', 'koa'],
    code: `import Koa from 'koa';
import ratelimit from 'koa-ratelimit';
const app = new Koa();
app.use(ratelimit({ driver: 'memory', db: new Map(), duration: 10_000, max: 20, id: (ctx) => ctx.get('x-api-key') }));
app.use((ctx) => { ctx.body = {}; });
app.listen(port, '127.0.0.1');`,
  },
  {
    name: '2 requests a second, a burst of 19, status 429',
    packages: [],
    code: `limit_req_zone $http_x_api_key zone=keys:1m rate=2r/s;
    limit_req_status 429;
    server { listen unix:FOLDER/api.sock; return 200; }
    server { listen 127.0.0.1:PORT; location / { limit_req zone=keys burst=19 nodelay; proxy_pass http://unix:FOLDER/api.sock; } }`,
  },
];
