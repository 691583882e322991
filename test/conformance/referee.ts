import assert from 'node:assert/strict';
import { type Channel, channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { judge, type RefereeOptions } from '../../referee/src/server/server.ts';
import type { Report } from '../../referee/src/trial/rule.ts';
import type { ManualClock } from '../kit/clock.ts';
import type { TestService } from '../kit/service.ts';

const CREATED: Channel = channel('http.server.response.created');

/** Has every server of this process write a manual clock's time as `Date`, as a server does that tells its own time. */
function writeDates(clock: ManualClock): Disposable {
  const write = (message: unknown) => {
    const { response } = message as { response: ServerResponse };
    response.setHeader('Date', new Date(clock.now().unix * 1000).toUTCString());
  };
  CREATED.subscribe(write);
  return { [Symbol.dispose]: () => void CREATED.unsubscribe(write) };
}

/** Judges a service under a manual clock; waiting turns the clock. */
export async function refereed(
  service: Pick<TestService, 'url' | 'clock' | 'issue'>,
  options: Partial<RefereeOptions> = {},
): Promise<Report> {
  const { url, clock } = service;
  using _dates = writeDates(clock);
  const [key, limited] = [await service.issue({ plan: 'business' }), await service.issue()];
  const { report, failure } = await judge({
    url: new URL(url),
    key: key.secret,
    limitedKey: limited.secret,
    otherEnvironmentKey: undefined,
    level: 'ours',
    isFull: true,
    concurrency: 16,
    pace: { now: () => clock.now().steady, wait: async (seconds) => clock.advance(Math.ceil(seconds)) },
    ...options,
  });
  assert.equal(failure, undefined);
  return report;
}

/** The ids of the rules that are broken, and of those that were skipped, with the reason. */
export function notPassed({ rules }: Report): string[] {
  return rules
    .filter(({ verdict }) => verdict !== 'passed')
    .map(({ id, verdict, seen, reason }) => `${id} ${verdict}: ${seen ?? reason}`);
}

/** Balances connections over servers on the loopback, one after the other. */
export async function openBalancer(urls: readonly string[]): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const { port } = new URL(urls[next % urls.length] ?? '');
    next += 1;
    const upstream = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true, noDelay: true });
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => sockets.delete(from));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
