import { type Clock, PetCatalog, type PetCatalogOptions } from '../../../client/src/pet-catalog.ts';

/** A request, and what answers it. */
interface Sent {
  readonly method: string | undefined;
  readonly url: string;
  /** Behind `/v1`. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: RequestInit['body'];
  /** Answers with a response, or fails with anything else. */
  answer(response: unknown): Promise<void>;
}

/** A client whose every request waits until the test answers it, on a clock that moves only when the test moves it. */
export function bench(options: Partial<PetCatalogOptions> = {}) {
  const sent: Sent[] = [];
  let now = 0;
  const sleepers = new Set<{ until: number; wake(): void }>();
  const clock: Clock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((wake, reject) => {
        const sleeper = { until: now + ms, wake };
        sleepers.add(sleeper);
        signal.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        });
      }),
  };
  const pass = async (ms: number) => {
    now += ms;
    for (const sleeper of sleepers) {
      if (sleeper.until > now) continue;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
    await settled();
  };
  const send: typeof fetch = (url, init) =>
    new Promise((resolve, reject) => {
      sent.push({
        path: new URL(`${url}`).pathname.slice('/v1'.length),
        method: init?.method,
        url: `${url}`,
        headers: new Headers(init?.headers),
        body: init?.body,
        async answer(response) {
          if (response instanceof Response) resolve(response);
          else reject(response);
          await settled();
        },
      });
    });
  const catalog = new PetCatalog({
    baseUrl: 'http://service.example/v1',
    apiKey: 'secret',
    clock,
    fetch: send,
    ...options,
  });
  return { catalog, sent, pass, /** How many waits are under way. */ waits: () => sleepers.size };
}

/** The clock does not begin at a whole second. */
const BEGUN_MS = 1_700;

/** A clock on which every wait between attempts is over at once, and noted. Deadlines never come. */
export function noWaits() {
  const waits: number[] = [];
  let sleeps = 0;
  let now = BEGUN_MS;
  const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      // The first wait is for the deadline of the call.
      sleeps += 1;
      if (sleeps === 1 || ms >= 30_000) return;
      waits.push(ms);
      now += ms;
      setImmediate(resolve);
    });
  return { waits, clock: { now: () => now, sleep } };
}

/** Lets everything happen that does not wait for the clock or an answer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ code, message: 'No', status }, { status, headers });
export const limits = (remaining: number) => ({
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': `${remaining}`,
  'x-ratelimit-reset': '60',
});
export const good = (headers: Record<string, string> = {}) => Response.json({ id: 1, name: 'Dog' }, { headers });
