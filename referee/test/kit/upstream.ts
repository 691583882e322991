import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { UNKNOWN_CLIENT } from '../../src/client/learned.ts';
import type { Play } from '../../src/client/note.ts';
import { judge, RULE_NAMES, USUAL_CUSTOMS } from '../../src/client/rules.ts';
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
      (server as Partial<ReturnType<typeof createServer>>).closeAllConnections?.();
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
export async function played(options: ProxyOptions, work: (url: string) => Promise<unknown>): Promise<Play> {
  await using proxy = await openProxy(options);
  await work(proxy.url);
  return proxy.end();
}

/** The step of each request, its status, and whether its answer was delivered. */
export const steps = ({ requests }: Play) =>
  requests.map(({ step, status, isDelivered }) => `${step} ${status} ${isDelivered}`);

/** A request with these lines between the request line and the empty line. */
export function headOf(line: string, ...headers: readonly string[]): string {
  return `${[line, 'Host: pets.example', ...headers].join('\r\n')}\r\n\r\n`;
}

/** The rules that a play put to the test, each with its verdict; those that every failure tests, where they are broken. */
export function verdicts(play: Play): string {
  const { tested, findings } = judge(play, UNKNOWN_CLIENT, USUAL_CUSTOMS);
  const isMet = (rule: string) => [...tested.keys()].some((cell) => cell.startsWith(`${rule} `));
  const isBroken = (rule: string) => findings.some((each) => each.rule === rule);
  return RULE_NAMES.filter((rule) => rule !== 'recovers' && isMet(rule))
    .filter((rule) => isBroken(rule) || !/^(gives-up|backs-off|tells)$/.test(rule))
    .map((rule) => `${rule} ${isBroken(rule) ? 'broken' : 'kept'}`)
    .join(', ');
}
