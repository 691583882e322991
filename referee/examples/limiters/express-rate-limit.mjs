import express from 'express';
import { rateLimit } from 'express-rate-limit';

const [port, options = '{}'] = process.argv.slice(2);
const app = express();
const keyGenerator = (request) => request.get('x-api-key');
app.use(rateLimit({ windowMs: 10_000, limit: 20, keyGenerator, ...JSON.parse(options) }));
app.all('/', (_, response) => response.json({}));
app.listen(port, '127.0.0.1');
