import type { VirtualTime } from '../client/virtual-time.ts';

/** What a small client does; each habit can be broken alone. */
interface Habits {
  readonly waitsForRetryAfter: boolean;
  readonly backsOff: boolean;
  readonly keepsIdempotencyKey: boolean;
  readonly stopsAtRefusals: boolean;
  readonly triesMax: number;
  readonly ignoresUnknownMembers: boolean;
}

const CAREFUL: Habits = {
  waitsForRetryAfter: true,
  backsOff: true,
  keepsIdempotencyKey: true,
  stopsAtRefusals: true,
  triesMax: 5,
  ignoresUnknownMembers: true,
};
const BACKOFF_MS = 500;
const KNOWN_MEMBERS = new Set(['id', 'name', 'description']);

/** A client as a customer may write one. */
export interface SmallClient {
  list(limit: number): Promise<boolean>;
  /** Whether the category was created. */
  create(name: string): Promise<boolean>;
}

interface Target {
  readonly url: string;
  readonly secret: string;
  readonly time: VirtualTime;
}

/** Makes a client that is careful but for some habits. Its calls tell whether they succeeded. */
export function smallClient({ url, secret, time }: Target, broken: Partial<Habits> = {}): SmallClient {
  const habits = { ...CAREFUL, ...broken };
  let keys = 0;

  async function call(path: string, init: { method: string; body?: string }): Promise<boolean> {
    keys += 1;
    const key = `key-${keys}`;
    for (let attempt = 1; attempt <= habits.triesMax; attempt += 1) {
      const headers: Record<string, string> = { authorization: `Bearer ${secret}`, connection: 'close' };
      if (init.body) headers['content-type'] = 'application/json';
      if (init.method === 'POST' && habits.keepsIdempotencyKey) headers['idempotency-key'] = key;
      const answer = await time.fetch(url + path, { ...init, headers }).catch(() => undefined);
      if (answer?.ok) return decode(await answer.text());
      const isRefused = answer && answer.status < 500 && answer.status !== 429;
      if (isRefused && habits.stopsAtRefusals) return false;
      const seconds = Number(answer?.headers.get('retry-after') ?? 0);
      const waitMs =
        seconds > 0 && habits.waitsForRetryAfter ? seconds * 1_000 : habits.backsOff ? BACKOFF_MS * 2 ** attempt : 1;
      if (attempt < habits.triesMax) await time.clock.sleep(waitMs, new AbortController().signal);
    }
    return false;
  }

  function decode(text: string): boolean {
    const items: object[] = [JSON.parse(text)].flat();
    const unknown = items.flatMap((item) => Object.keys(item)).find((name) => !KNOWN_MEMBERS.has(name));
    if (unknown !== undefined && !habits.ignoresUnknownMembers) throw new Error(`There is no member ${unknown}`);
    return true;
  }

  return {
    list: (limit) => call(`/categories?limit=${limit}`, { method: 'GET' }),
    create: (name) => call('/categories', { method: 'POST', body: JSON.stringify({ name }) }),
  };
}
