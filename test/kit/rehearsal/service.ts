import assert from 'node:assert/strict';
import type { NewApiKey } from '../../../src/catalog/api-key.ts';
import type { RehearsalOptions } from '../../../src/rehearsal/rehearsal.ts';
import { type Report, reportOf } from '../../../src/rehearsal/verdict/report.ts';
import { insertScript, readRehearsal } from '../../../src/rehearsal/verdict/stored-rehearsals.ts';
import { type VirtualTime, virtualTime } from '../client/virtual-time.ts';
import { type ManualClock, manualClock } from '../clock.ts';
import { type TestService, testService } from '../service.ts';

/** The clock, with milliseconds that are those of its seconds. */
export function inMilliseconds(clock: ManualClock): ManualClock {
  return { ...clock, steadyMs: () => clock.now().steady * 1_000, unixMs: () => clock.now().unix * 1_000 };
}

/** A service in rehearsal, whose time passes when its clients wait. */
export interface RehearsedService extends AsyncDisposable {
  readonly service: TestService;
  readonly time: VirtualTime;
  /** Issues a key that follows a script. */
  follow(script: string, wanted?: Partial<NewApiKey>): Promise<Followed>;
}

export interface Followed {
  readonly id: string;
  readonly secret: string;
  report(): Promise<Report>;
  /** Every rule that the requests led to, with its verdict. */
  verdicts(): Promise<Record<string, string>>;
}

export async function rehearsedService(options: RehearsalOptions = {}): Promise<RehearsedService> {
  const clock = manualClock();
  const time = virtualTime(clock);
  const settings = { ENVIRONMENT: 'staging', REHEARSAL: 'on', CORS_ORIGINS: '*' };
  const service = await testService(settings, { ...clock, ...time.waits }, options);
  return {
    service,
    time,
    async follow(script, wanted = {}) {
      const { key, secret } = await service.issue(wanted);
      await insertScript(service.storage.transactions, { keyId: key.id, script });
      const report = async () => {
        const rehearsal = await readRehearsal(service.storage.transactions, key.id);
        assert.ok(rehearsal);
        return reportOf(rehearsal);
      };
      return {
        id: key.id,
        secret,
        report,
        async verdicts() {
          const { rules } = await report();
          const met = rules.filter(({ verdict }) => verdict !== 'not met');
          return Object.fromEntries(met.map(({ rule, verdict }) => [rule, verdict]));
        },
      };
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
