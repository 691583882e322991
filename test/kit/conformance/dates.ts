import { type Channel, channel } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../src/stdx/clock.ts';

const STARTED: Channel = channel('http.server.request.start');

/** Has every server of this thread write a manual clock's time as `Date`, as a server does that tells its own time. */
export function writeDates(clock: Clock): Disposable {
  const write = (message: unknown) => {
    const { response } = message as { response: ServerResponse };
    response.setHeader('Date', new Date(clock().unix * 1000).toUTCString());
  };
  STARTED.subscribe(write);
  return { [Symbol.dispose]: () => void STARTED.unsubscribe(write) };
}
