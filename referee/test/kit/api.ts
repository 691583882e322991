import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { things } from './stage.ts';

/** An API as a process of its own. */
const server = createServer(things());
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/api`);
});
