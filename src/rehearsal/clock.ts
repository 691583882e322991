import { invalid } from '../catalog/error.ts';
import { objectOf, validator } from '../catalog/validate.ts';
import { html } from '../http/html.ts';
import { onceIdOf } from '../http/operations/conditional.ts';
import { type ApiOperation, apiOperation } from '../operator/api/operation.ts';
import {
  type ConsoleContext,
  type ConsoleRoute,
  may,
  onGet,
  onPost,
  seeOther,
  type View,
} from '../operator/frame/context.ts';
import { count, duration, mistake, post } from '../operator/frame/element.ts';
import { field, mistakeIn } from '../operator/frame/form.ts';
import { utc } from '../stdx/time.ts';
import type { Transactions } from '../storage/sql/transactions.ts';
import { type Turn, timeJson, turnTime } from './clock-turns.ts';
import type { TurnedTime } from './turned-time.ts';

const MINUTES = 'yyyy-mm-ddThh:mm'.length;
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

/** The page of the clock, and its forms. */
export function clockRoutes(transactions: Transactions, time: TurnedTime): readonly ConsoleRoute[] {
  const turn = async (context: ConsoleContext, wanted: Turn) => {
    try {
      await turnTime(transactions, wanted, { machine: time.machine, by: context.by });
      return seeOther('/clock');
    } catch (error) {
      return clockPage(context, time, mistakeIn(error));
    }
  };
  return [
    onGet('/clock', (context) => clockPage(context, time)),
    onPost('/clock/advance', (context) => turn(context, { advance: field(context.form, 'advance') })),
    onPost('/clock/set', (context) => turn(context, { set: momentIn(field(context.form, 'set')) })),
  ];
}

/** A browser leaves out the zone, and seconds that are 0. */
function momentIn(local: string): string {
  return `${local}${local.length === MINUTES ? ':00' : ''}Z`;
}

function clockPage(context: ConsoleContext, time: TurnedTime, wrong?: string): View {
  const { now, turnedBy } = time.shown;
  const advance = html`<div class="fields"><div><label for="advance">Duration</label>
<input id="advance" name="advance" value="${field(context.form, 'advance') || '1h'}" required autocomplete="off" aria-describedby="advance-hint">
<p class="hint" id="advance-hint">Such as 90s, 10m, 24h or 30d.</p></div>
<div class="row"><button class="primary">Advance</button></div></div>`;
  const set = html`<div class="fields"><div><label for="set">Time in UTC</label>
<input id="set" name="set" type="datetime-local" step="1" required value="${utc(now).slice(0, -1)}"></div>
<div class="row"><button class="primary">Set</button></div></div>`;
  const forms = html`<section aria-labelledby="advance-heading"><h2 id="advance-heading">Put it forward by</h2>
${post(context, '/clock/advance', advance)}</section>
<section aria-labelledby="set-heading"><h2 id="set-heading">Put it forward to</h2>
${post(context, '/clock/set', set)}</section>`;
  const content = html`<h1>Clock</h1>
<p class="lead">The time of this service can be put forward, and goes on from there. Windows and the day, bans, the ends of keys, idempotency keys and the sunset follow it. Sessions, tokens, backups and the log keep the machine’s time.</p>
${mistake(wrong)}
<dl class="facts"><dt>Time</dt><dd id="time">${utc(now)}</dd>
<dt>Turned by</dt><dd>${turnedBy === 0 ? 'nothing' : html`${duration(turnedBy)} (${count(turnedBy)} s)`}</dd>
<dt>Machine</dt><dd>${utc(context.machineNow)}</dd></dl>
${may(context, 'admin') ? forms : ''}`;
  return { section: '/clock', title: 'Clock', content, status: wrong === undefined ? 200 : 400 };
}
