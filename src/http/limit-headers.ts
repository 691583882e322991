import type { Time } from '../stdx/time.ts';
import type { Exchange } from './transport/exchange.ts';

/** Appends the published limit headers and, for a valid key, those of the IETF draft, to the answers of a listener. */
export function limitHeaders(time: Time): (headers: string[], exchange: Exchange) => void {
  return (headers, { presentDecision }) => {
    if (!presentDecision) {
      // Without a valid key there is no quota, and nothing is revealed about the key that was sent.
      headers.push('X-RateLimit-Limit', '0', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', `${time.now().unix}`);
      return;
    }
    const { limit, remaining, reset, minute, day, now } = presentDecision;
    headers.push(
      'X-RateLimit-Limit',
      `${limit}`,
      'X-RateLimit-Remaining',
      `${remaining}`,
      'X-RateLimit-Reset',
      `${reset}`,
      'RateLimit-Policy',
      policyOf(minute.limit, day.limit),
      'RateLimit',
      `"minute";r=${minute.remaining};t=${minute.reset - now}, "day";r=${day.remaining};t=${day.reset - now}`,
    );
  };
}

/** The last policy, cached because most requests in a row are on the same plan. */
let lastPolicy = { minute: Number.NaN, day: Number.NaN, text: '' };

function policyOf(minute: number, day: number): string {
  if (lastPolicy.minute !== minute || lastPolicy.day !== day) {
    lastPolicy = { minute, day, text: `"minute";q=${minute};w=60, "day";q=${day};w=86400` };
  }
  return lastPolicy.text;
}
