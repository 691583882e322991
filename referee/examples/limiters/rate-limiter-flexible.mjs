import express from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';

const [port] = process.argv.slice(2);
const limiter = new RateLimiterMemory({ points: 20, duration: 10 });
const app = express();
app.use(async (request, response, next) => {
  const tell = (state) =>
    response.set({
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
app.all('/', (_, response) => response.json({}));
app.listen(port, '127.0.0.1');
