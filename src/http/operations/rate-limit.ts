import { PLAN_NAMES } from '../../catalog/plan.ts';
import { objectOf } from '../../catalog/validate.ts';
import { operation } from './operation.ts';

const moment = (description: string) => ({ type: 'integer', format: 'int64', description });

const WindowStatus = objectOf('RateLimitWindow', 'The current window of a key, a minute or a UTC day', {
  required: ['limit', 'remaining', 'reset'],
  properties: {
    limit: { type: 'integer', description: 'Requests allowed per window' },
    remaining: { type: 'integer', description: 'Requests left in this window' },
    reset: moment('When the window resets, in Unix seconds'),
  },
});

const Ban = objectOf('Ban', 'A ban of a key', {
  required: ['until', 'reason'],
  properties: {
    until: moment('When the ban ends, in Unix seconds'),
    reason: { type: 'string', description: 'Why the key is banned' },
  },
});

const RateLimit = objectOf('RateLimit', 'The state of the limits of a key', {
  required: ['plan', 'minute', 'day', 'ban'],
  properties: {
    plan: { enum: PLAN_NAMES, type: 'string', description: "The key's plan" },
    minute: WindowStatus,
    day: WindowStatus,
    ban: { anyOf: [Ban, { type: 'null' }], description: 'The ban of the key; null without one' },
  },
});

export const GET_RATE_LIMIT = operation('getRateLimit', 'GET /rate_limit', {
  tag: 'limits',
  summary: 'Get the state of the limits',
  description:
    'The requests left in both windows. Does not count against the limits, and works over the limit and during a ban.',
  permission: 'any',
  free: true,
  success: {
    status: 200,
    description: 'Both windows, and the ban if the key is banned',
    schema: RateLimit,
    example: {
      plan: 'free',
      minute: { limit: 60, remaining: 59, reset: 1767225660 },
      day: { limit: 1000, remaining: 999, reset: 1767312000 },
      ban: null,
    },
  },
  handle(_catalog, { key, decision }) {
    const { minute, day, ban = null } = decision;
    return { status: 200, body: JSON.stringify({ plan: key.plan, minute, day, ban }) };
  },
});
