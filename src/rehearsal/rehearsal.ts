import { type AppOptions, createApp } from '../http/app.ts';
import type { Serve } from '../http/transport/exchange.ts';
import type { Additions } from '../operator/frame/context.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { clockOperations, clockRoutes } from './clock.ts';
import { markRehearsed, takeTurn } from './clock-turns.ts';
import { type Defect, withDefects } from './defects/fault.ts';
import { withDate, withGrease } from './intercepted-answers.ts';
import { withScripts } from './script/scripted-app.ts';
import { ScriptedKeys } from './script/scripted-key.ts';
import type { TurnedTime } from './turned-time.ts';
import { rehearsalRoutes } from './verdict/rehearsal-pages.ts';

/** The parts of a service in rehearsal. `src/service.ts` puts them in the place of the usual ones. */
export interface Rehearsal {
  /** In place of the `createApp` of the public API. */
  createApp(options: AppOptions): Serve;
  /** Wraps the request handler of the operator listener. */
  operator(serve: Serve): Serve;
  /** Additions to console and operator API. */
  readonly additions: Additions;
  /** Takes the turn of the clock that is stored. */
  takeTurn(): Promise<void>;
}

export interface RehearsalOptions {
  /** Adds what may come at any time to every answer; the same for the same seed. */
  readonly greaseSeed?: string | undefined;
  /** The rules that the service breaks on purpose. */
  readonly defects?: readonly Defect[];
}

/** Opens the rehearsal of a service: marks its database, and turns its clock as far as that is turned there. */
export async function openRehearsal(
  { transactions }: SqlStorage,
  time: TurnedTime,
  { greaseSeed, defects = [] }: RehearsalOptions = {},
): Promise<Rehearsal> {
  const take = oneAtATime(async () => time.turn(await takeTurn(transactions, time.machine)));
  await markRehearsed(transactions);
  await take();
  const keys = new ScriptedKeys(transactions, time);
  return {
    createApp(options) {
      const serve = withScripts(withDefects(createApp, defects, time), { keys, time })(options);
      return withDate(greaseSeed === undefined ? serve : withGrease(serve, greaseSeed), time);
    },
    operator: (serve) => withDate(serve, time),
    additions: {
      navigation: [
        { path: '/rehearsals', label: 'Rehearsals' },
        { path: '/clock', label: 'Clock' },
      ],
      routes: [...rehearsalRoutes(transactions), ...clockRoutes(transactions, time)],
      operations: clockOperations(transactions, time),
    },
    takeTurn: take,
  };
}
