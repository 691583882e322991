import { type AppOptions, createApp } from '../http/app.ts';
import type { Serve } from '../http/transport/exchange.ts';
import type { Additions } from '../operator/frame/context.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { SYSTEM_TIMERS, type Timers } from '../stdx/timers.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { withDate, withGrease } from './answers.ts';
import type { TurnedClock } from './clock.ts';
import { clockOperations } from './clock-api.ts';
import { clockRoutes } from './clock-page.ts';
import { type Defect, withDefects } from './defects/defect.ts';
import { withScripts } from './script/scripted-app.ts';
import { ScriptedKeys } from './script/scripted-key.ts';
import { markRehearsed, takeTurn } from './turns.ts';
import { rehearsalRoutes } from './verdict/pages.ts';

/** What a service in rehearsal does otherwise. `src/service.ts` puts it in the place of the usual part. */
export interface Rehearsal {
  /** In place of the `createApp` of the public API. */
  createApp(options: AppOptions): Serve;
  /** Wraps the request handler of the operator listener. */
  operator(serve: Serve): Serve;
  /** What it adds to console and operator API. */
  readonly additions: Additions;
  /** Takes the turn of the clock that is stored. */
  takeTurn(): Promise<void>;
}

export interface RehearsalOptions {
  /** Adds what may come at any time to every answer; the same for the same seed. */
  readonly greaseSeed?: string | undefined;
  /** The machine's time in Unix milliseconds, which never goes back. */
  readonly machineMs?: () => number;
  readonly timers?: Timers;
  /** The rules that the service breaks on purpose. */
  readonly defects?: readonly Defect[];
}

/** Opens the rehearsal of a service: marks its database, and turns its clock as far as that is turned there. */
export async function openRehearsal(
  { transactions }: SqlStorage,
  clock: TurnedClock,
  { greaseSeed, machineMs = monotonicMs, timers = SYSTEM_TIMERS, defects = [] }: RehearsalOptions = {},
): Promise<Rehearsal> {
  const take = oneAtATime(async () => clock.turn(await takeTurn(transactions, clock.machine)));
  await markRehearsed(transactions);
  await take();
  const keys = new ScriptedKeys(transactions);
  const nowMs = () => clock.turnedMs(Math.round(machineMs()));
  return {
    createApp(options) {
      const serve = withScripts(withDefects(createApp, defects, clock.now), { keys, clock: clock.now, timers, nowMs })(
        options,
      );
      return withDate(greaseSeed === undefined ? serve : withGrease(serve, greaseSeed), clock.now);
    },
    operator: (serve) => withDate(serve, clock.now),
    additions: {
      navigation: [
        { path: '/rehearsals', label: 'Rehearsals' },
        { path: '/clock', label: 'Clock' },
      ],
      routes: [...rehearsalRoutes(transactions), ...clockRoutes(transactions, clock)],
      operations: clockOperations(transactions, clock),
    },
    takeTurn: take,
  };
}

function monotonicMs(): number {
  return performance.timeOrigin + performance.now();
}
