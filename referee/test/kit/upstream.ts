import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { type Report, reportOf } from '../../src/client/verdict.ts';
import { openProxy, type ProxyOptions } from '../../src/proxy/proxy.ts';

export interface Standing extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server on any port of loopback. */
export async function standing(server: Server, scheme = 'http'): Promise<Standing> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      (server as ReturnType<typeof createServer>).closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An API that a script is played before. */
export const upstreamOf = (listener: RequestListener) => standing(createServer(listener));
/** Answers with JSON. */
export const json = (response: ServerResponse, body: unknown, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Plays a script before an API while a client works. */
export async function played(options: ProxyOptions, work: (url: string) => Promise<unknown>): Promise<Report> {
  await using proxy = await openProxy(options);
  await work(proxy.url);
  return reportOf(await proxy.end());
}

/** The step of each request, its status, and whether its answer was delivered. */
export const steps = ({ requests }: Report) =>
  requests.map(({ step, status, isDelivered }) => `${step} ${status} ${isDelivered}`);

/** A request with these lines between the request line and the empty line. */
export function headOf(line: string, ...headers: readonly string[]): string {
  return `${[line, 'Host: pets.example', ...headers].join('\r\n')}\r\n\r\n`;
}
