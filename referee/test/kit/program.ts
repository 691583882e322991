import { setTimeout as sleep } from 'node:timers/promises';

/** A program that creates one category, with a habit: `no-key` sends no Idempotency-Key. */

const TRIES = 5;
const [habit] = process.argv.slice(2);
const url = process.env.REFEREE_URL ?? '';
const headers: Record<string, string> = {
  'content-type': 'application/json',
  connection: 'close',
};
if (habit !== 'no-key') headers['idempotency-key'] = 'create-dog';
console.log('to stdout');
console.error('to stderr');
process.exitCode = (await create()) ? 0 : 1;

async function create(): Promise<boolean> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const sent = fetch(`${url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
    const answer = await sent
      .then(async (each) => ({ ...each, ok: each.ok, headers: each.headers, text: await each.text() }))
      .catch(() => undefined);
    if (answer?.ok) return true;
    const retryAfter = answer?.headers.get('retry-after');
    if (attempt < TRIES) await sleep(retryAfter ? waitMs(retryAfter) : 50 * 2 ** attempt);
  }
  return false;
}

function waitMs(retryAfter: string): number {
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Math.max(0, Date.parse(retryAfter) - Date.now());
}
