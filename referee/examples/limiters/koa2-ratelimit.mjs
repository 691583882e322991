import Koa from 'koa';
import { RateLimit } from 'koa2-ratelimit';

const [port] = process.argv.slice(2);
const app = new Koa();
const keyGenerator = async (ctx) => ctx.get('x-api-key');
app.use(RateLimit.middleware({ interval: { sec: 10 }, max: 20, keyGenerator }));
app.use((ctx) => {
  ctx.body = {};
});
app.listen(port, '127.0.0.1');
