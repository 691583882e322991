import type { Step, StepName } from '../client/script.ts';
import type { Fields } from './headers.ts';
import type { Held } from './progress.ts';

export interface MadeUp {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Fields;
}

const LIMITED = { status: 429, code: 'rate_limit_exceeded', message: 'Too many requests' };
const REFUSALS: Readonly<Partial<Record<StepName, MadeUp>>> = {
  limit: LIMITED,
  'limit-date': LIMITED,
  quota: { status: 429, code: 'daily_quota_exceeded', message: 'The quota of the day is used up' },
  ban: { status: 429, code: 'key_banned', message: 'The key is banned' },
  unavailable: { status: 503, code: 'unavailable', message: 'The service cannot do this now' },
  error: { status: 500, code: 'internal_error', message: 'The service failed' },
  revoked: {
    status: 401,
    code: 'invalid_api_key',
    message: 'The key is not valid',
    headers: [['WWW-Authenticate', 'Bearer']],
  },
};

/** The answer for a request whose outcome stays unknown. */
export const UNKNOWN: MadeUp = {
  status: 503,
  code: 'outcome_unknown',
  message: 'It is not known whether this was done',
  headers: [['Retry-After', '1']],
};

/** The answer of a proxy whose upstream does not answer. */
export const NO_ANSWER: MadeUp = { status: 502, code: 'bad_gateway', message: 'The upstream did not answer' };

/** The answer of a proxy that upgrades no connection. */
export const NO_UPGRADE: MadeUp = { status: 501, code: 'not_implemented', message: 'No connection is upgraded here' };

/** The answer that a step makes up without the upstream; undefined if the upstream answers. */
export function refusalOf({ name, seconds }: Step, held: Held | undefined): MadeUp | undefined {
  const refusal = REFUSALS[name];
  const retryAfter = name === 'unavailable' ? `${seconds}` : held?.retryAfter;
  return refusal && retryAfter !== undefined ? { ...refusal, headers: [['Retry-After', retryAfter]] } : refusal;
}
