import { type Judgement, judge, type RefereeOptions } from '../../src/server/server.ts';
import { LIMITED_KEY, MAIN_KEY, serve, type Way } from './server.ts';

/** Judges a server with these ways; waiting turns its clock. At our level in full, unless options say otherwise. */
export async function judged(ways: readonly Way[], options: Partial<RefereeOptions> = {}): Promise<Judgement> {
  await using server = await serve(...ways);
  const { clock } = server;
  const pace = {
    now: () => clock.now,
    async wait(seconds: number) {
      clock.now += seconds;
    },
  };
  return await judge({
    url: new URL(server.url),
    key: MAIN_KEY,
    limitedKey: LIMITED_KEY,
    otherEnvironmentKey: undefined,
    level: 'ours',
    isFull: true,
    concurrency: 16,
    pace,
    ...options,
  });
}
