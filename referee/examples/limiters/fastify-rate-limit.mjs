import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';

const [port, options = '{}'] = process.argv.slice(2);
const app = Fastify();
const keyGenerator = (request) => request.headers['x-api-key'];
await app.register(rateLimit, { max: 20, timeWindow: 10_000, keyGenerator, ...JSON.parse(options) });
app.route({ method: ['GET', 'POST'], url: '/', handler: async () => ({}) });
await app.listen({ port: Number(port), host: '127.0.0.1' });
