import { apiClient } from '../operator.ts';
import { type RunHereOptions, run } from '../process.ts';
import type { TestService } from '../service.ts';
import { ALONE, called, operated, printedBy, type RecordedKey } from './recorded.ts';

/** What the clients of a release in rehearsal hold, and what it said of them. */
export interface RecordedRehearsal {
  /** The machine's time at which it was stopped, in Unix seconds. */
  readonly leftAt: number;
  /** By how many seconds its time was turned. */
  readonly turnedBy: number;
  /** A token of the operator API. */
  readonly admin: string;
  /** In the middle of its script: a limit that holds for ten minutes, then `ok`, then `error`. */
  readonly scripted: RecordedKey;
  readonly report: unknown;
}

export const REHEARSAL_SETTINGS = { ...ALONE, ENVIRONMENT: 'staging', REHEARSAL: 'on' };
const SCRIPT = 'ok,limit:600,ok,error';

/** Lives through a rehearsal: time that is turned, and a key in the middle of its script. */
export async function rehearse(service: TestService, beside: RunHereOptions): Promise<RecordedRehearsal> {
  const { secret: admin } = await apiClient(service, 'admin');
  await operated(service, admin, '/clock', { method: 'POST', body: { advance: '1h' } });
  // A start takes the turn at once.
  await service.restart();
  const command = `keys create --name ci --rehearse ${SCRIPT} --json`;
  const { id, key: secret } = (await printedBy(command, beside)) as { id: string; key: string };
  await called(service, secret, '/categories', {
    method: 'POST',
    status: 201,
    body: { name: 'Dog' },
    headers: { 'idempotency-key': 'rehearsed-1' },
  });
  await called(service, secret, '/categories', { status: 429 });
  const { turnedBy } = (await operated(service, admin, '/clock')) as { turnedBy: number };
  await service.restart();
  const report = await reportOf(id, beside);
  return { leftAt: service.clock.now().unix, turnedBy, admin, scripted: { id, secret }, report };
}

/** The verdict on a key; its script is not at its end. */
export async function reportOf(id: string, beside: RunHereOptions): Promise<unknown> {
  const { stdout } = await run(['rehearse', 'report', id, '--json'], beside);
  return JSON.parse(stdout);
}
