import { invalid } from '../catalog/error.ts';
import { objectOf, validator } from '../catalog/validate.ts';
import { onceIdOf } from '../http/operations/conditional.ts';
import { type ApiOperation, apiOperation } from '../operator/api/operation.ts';
import type { Transactions } from '../storage/sql/transactions.ts';
import { type Turn, timeJson, turnTime } from './clock-turns.ts';
import type { TurnedTime } from './turned-time.ts';

const TAG = 'clock';
const EXAMPLE = { now: '2030-12-05T00:00:00Z', turnedBy: 127_440_000 };

const Time = objectOf('Time', 'The turned time', {
  required: ['now', 'turnedBy'],
  properties: {
    now: { type: 'string', format: 'date-time', description: 'The time of the service', example: EXAMPLE.now },
    turnedBy: { type: 'integer', minimum: 0, description: 'By how many seconds it is ahead of the machine’s' },
  },
});

const NewTurn = objectOf('Turn', 'How far to put the time forward: one of the two', {
  properties: {
    advance: { type: 'string', description: 'A duration, such as `90s`, `10m`, `24h` or `30d`', example: '24h' },
    set: { type: 'string', format: 'date-time', description: 'A moment that is not past', example: EXAMPLE.now },
  },
});

const checkTurn = validator(NewTurn);

/** The operations on the clock of a rehearsal. */
export function clockOperations(transactions: Transactions, time: TurnedTime): readonly ApiOperation[] {
  const success = { status: 200, description: 'The time', schema: Time, example: EXAMPLE } as const;
  const about = { tag: TAG, permission: 'admin', success } as const;
  return [
    apiOperation('getClock', 'GET /clock', {
      ...about,
      summary: 'Get the time',
      description: 'The time of a service in rehearsal, and by how much it is turned.',
      handle: () => ({ status: 200, body: JSON.stringify(timeJson(time.shown)) }),
    }),
    apiOperation('turnClock', 'POST /clock', {
      ...about,
      summary: 'Put the time forward',
      description: 'Time goes on from there at its usual pace. It can be put forward only.',
      body: { schema: NewTurn, example: { advance: '24h' } },
      async handle({ token, by }, exchange) {
        const turn = turnOf(checkTurn(exchange.body));
        const id = onceIdOf(exchange, token.id);
        const { resource: shown, isReplay } = await turnTime(transactions, turn, { machine: time.machine, by, id });
        const headers = isReplay ? ['Idempotency-Replayed', 'true'] : [];
        return { status: 200, headers, body: JSON.stringify(timeJson(shown)) };
      },
    }),
  ];
}

function turnOf({ advance, set }: { advance?: string; set?: string }): Turn {
  if (advance !== undefined && set === undefined) return { advance };
  if (set !== undefined && advance === undefined) return { set };
  throw invalid('The body has to say how far; send either `advance` or `set`');
}
