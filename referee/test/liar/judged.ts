import { judgeLimit, type LimitRequest, type LimitsOptions } from '../../src/limits/limits.ts';
import { type Judgement, judge, type RefereeOptions } from '../../src/server/server.ts';
import type { Report } from '../../src/trial/rule.ts';
import type { Lying } from './lie.ts';
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

/** A request of a key of the liar. */
export const request = (key: string, more: Partial<LimitRequest> = {}): LimitRequest => ({
  path: '/categories',
  ...more,
  headers: { authorization: `Bearer ${key}` },
});
export const SECOND = request(LIMITED_KEY, { method: 'POST', body: '{"name":"Conformance-second"}' });

/** Of the limited key as that of any API: fewer requests than at our level show the same. */
export const LIMIT = 20;

/** Judges the limit of a key of the liar, as that of any API; several ways change answers one after the other. */
export async function judgedLimit(ways: readonly Way[], options: Partial<LimitsOptions> = {}) {
  const says: Way = {
    says(answer, asked) {
      for (const way of ways) way.says?.(answer, asked);
    },
  };
  // A limiter of another kind has the rate of the plan: a token a second.
  const plan = ways.some(({ limiter }) => limiter) ? {} : { limit: LIMIT };
  await using server = await serve(plan, ...ways, says);
  const { clock } = server;
  return await judgeLimit({
    url: new URL(server.url),
    first: request(LIMITED_KEY),
    second: SECOND,
    stranger: request(MAIN_KEY),
    refused: [429, 403, 503],
    requestsMax: 300,
    isFull: true,
    concurrency: 16,
    pace: {
      now: () => clock.now,
      wait: async (seconds) => {
        clock.now += seconds;
      },
    },
    ...options,
  });
}

/** The rules that failed, with what was seen. */
export const failuresOf = ({ report }: { readonly report: Report }) =>
  report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`);

export function wayOf(way: Lying): Way {
  return typeof way === 'function' ? way() : way;
}
