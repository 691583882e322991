import { judgeLimit, type LimitRequest, type LimitsOptions } from '../../src/limits/limits.ts';
import type { Report } from '../../src/limits/rule.ts';
import type { Lying } from './lie.ts';
import { LIMITED_KEY, MAIN_KEY, serve, type Way } from './server.ts';

/** A request of a key of the liar. */
const request = (key: string, more: Partial<LimitRequest> = {}): LimitRequest => ({
  path: '/things',
  ...more,
  headers: { authorization: `Bearer ${key}` },
});
export const SECOND = request(LIMITED_KEY, { method: 'POST', body: '{}' });

/** Of the limited key: few requests show the same as many. */
export const LIMIT = 20;

/** Judges the limit of a key of the liar; several ways change answers one after the other. Waiting turns its clock. */
export async function judgedLimit(ways: readonly Way[], options: Partial<LimitsOptions> = {}) {
  const says: Way = {
    says(answer, asked) {
      for (const way of ways) way.says?.(answer, asked);
    },
  };
  // A limiter of another kind has the usual rate: a token a second.
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
  report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id, message }) => `${id}: ${message}`);

export function wayOf(way: Lying): Way {
  return typeof way === 'function' ? way() : way;
}
