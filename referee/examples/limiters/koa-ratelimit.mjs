import Koa from 'koa';
import ratelimit from 'koa-ratelimit';

const [port] = process.argv.slice(2);
const app = new Koa();
const id = (ctx) => ctx.get('x-api-key');
app.use(ratelimit({ driver: 'memory', db: new Map(), duration: 10_000, max: 20, id }));
app.use((ctx) => {
  ctx.body = {};
});
app.listen(port, '127.0.0.1');
