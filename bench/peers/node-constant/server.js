// The most that Node's HTTP server gives: the same bytes for everybody, no key, no limit, no route.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const list = readFileSync(process.env.LIST_FILE);
const body = list.toString();
const headers = ['Content-Type', 'application/json', 'Content-Length', `${list.length}`];

const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
