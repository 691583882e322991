// Bare node:http that reads and parses a create and answers 201, storing nothing: what a durable create is measured by.
// Does less than the service: no key, no limits, no validation beyond JSON, nothing kept, nothing synced to disk.
import { createServer } from 'node:http';

let lastId = 0;

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { name, description } = JSON.parse(Buffer.concat(chunks).toString());
    lastId += 1;
    const body = JSON.stringify({ id: lastId, name, description });
    const location = `/v1/categories/${lastId}`;
    const type = ['Content-Type', 'application/json', 'Content-Length', `${Buffer.byteLength(body)}`];
    response.writeHead(201, ['Location', location, ...type]).end(body);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
