import Type from 'typebox';
import type { Operation } from './operation.ts';

const moment = (description: string) => Type.Integer({ format: 'int64', description });

const WindowStatus = Type.Object(
  {
    limit: Type.Integer({ description: 'Requests that the window admits' }),
    remaining: Type.Integer({ description: 'Requests that it still admits' }),
    reset: moment('When it starts anew, in Unix seconds'),
  },
  { title: 'RateLimitWindow', description: 'One window of a key' },
);

const RateLimit = Type.Object(
  {
    plan: Type.String({ description: "The key's plan" }),
    minute: WindowStatus,
    day: WindowStatus,
    ban: Type.Union([
      Type.Object({ until: moment('When the ban ends, in Unix seconds'), reason: Type.String() }),
      Type.Null(),
    ]),
  },
  { title: 'RateLimit', description: 'What a key may still do' },
);

/** GET /rate_limit. */
export const getRateLimit: Operation = {
  id: 'getRateLimit',
  method: 'GET',
  path: '/rate_limit',
  tag: 'limits',
  summary: 'Get the state of the limits',
  description:
    'What the key may still do in both windows. Free of charge, and answered even over the limit and during a ban.',
  scope: 'any',
  free: true,
  success: {
    status: 200,
    description: 'Both windows, and the ban if there is one',
    schema: RateLimit,
    example: {
      plan: 'free',
      minute: { limit: 60, remaining: 59, reset: 1767225660 },
      day: { limit: 1000, remaining: 999, reset: 1767312000 },
      ban: null,
    },
  },
  errors: [],
  handle(_catalog, { key, decision }) {
    const { minute, day, ban = null } = decision;
    return { status: 200, body: JSON.stringify({ plan: key.plan, minute, day, ban }) };
  },
};
