import { hostname } from 'node:os';
import { newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { ALL_KEYS, sumCounts, type UsageCounts } from '../../src/catalog/usage.ts';
import { NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { storeBan } from '../kit/bans.ts';
import { ACTOR } from '../kit/console/visitor.ts';
import type { TestService } from '../kit/service.ts';
import { addUsage as addRecords, usageAt } from '../kit/usage.ts';

const DAY_SECONDS = 86_400;
const BY = { actor: ACTOR, via: 'console' } as const;
/** Names that break pages which do not expect them. */
export const HOSTILE_NAMES = [
  '<script>document.title = "broken in"</script>',
  '"><img src=x onerror="document.title = \'broken in\'">',
  '\u202Ereversed \u2067and more',
  "Robert'); DROP TABLE categories;--",
];

/** Ids of what is there to look at. */
export interface Life {
  readonly busyKey: string;
  readonly bannedKey: string;
  readonly category: number;
}

/** A service as it may be after some weeks: keys of each kind, usage, a ban, categories, pets, orders, calls. */
export async function fillWithLife(service: TestService): Promise<Life> {
  const { secrets, ...life } = await fillWithHistory(service);
  await callLately(service, [secrets.get(life.busyKey) ?? '', secrets.get(life.bannedKey) ?? '']);
  return life;
}

/** The same without calls, whose usage is stored seconds later. */
export async function fillWithHistory(service: TestService): Promise<Life & { secrets: ReadonlyMap<string, string> }> {
  const { storage, clock } = service;
  const now = clock.now().unix;
  const secrets = new Map<string, string>();
  const key = async (name: string, plan: 'free' | 'pro' | 'business') => {
    const { key, secret } = newApiKey({ name, plan, environment: 'production' }, now - 40 * DAY_SECONDS);
    await storage.keys.insert(key, secretRecord(secret), BY);
    secrets.set(key.id, secret);
    return key.id;
  };
  const busyKey = await key('Web shop', 'business');
  const bannedKey = await key('Nightly reports', 'free');
  const old = await key('Old mobile app', 'pro');
  for (const name of HOSTILE_NAMES) await key(name.slice(0, 100), 'free');
  await storage.keys.update(busyKey, { name: 'Web shop (production)' }, BY);
  await storage.keys.revoke(old, now - DAY_SECONDS, BY);

  for (let day = 30; day > 0; day -= 1) {
    const share = 1 + Math.sin(day / 2) / 3 + (day % 7 === 2 ? -0.5 : 0);
    await addUsage(service, now - day * DAY_SECONDS, { [busyKey]: 61_000 * share, [bannedKey]: 700 * share });
  }
  for (let minute = 55; minute >= 1; minute -= 1) {
    const share = 1 + Math.sin(minute / 4) / 4;
    const hammers = minute < 9 && minute > 4;
    const bannedKeyUsage = hammers ? { served: 60, refused: 180 + 40 * minute } : { served: 11 };
    await addUsage(service, now - minute * 60, { [busyKey]: 640 * share, [bannedKey]: bannedKeyUsage });
  }
  const day = Math.floor(now / DAY_SECONDS);
  await storage.limits.saveCounts([
    { ...NO_COUNTS, keyId: busyKey, minuteEnds: now + 31, minuteUsed: 412, day, dayUsed: 38_120 },
    { ...NO_COUNTS, keyId: bannedKey, minuteEnds: now + 12, minuteUsed: 60, day, dayUsed: 640 },
  ]);
  const ban = { ...NO_COUNTS, keyId: bannedKey, reason: 'refused 61 more times within a minute of a 429' };
  const past = now - 5 * DAY_SECONDS;
  await storeBan(storage, { ...ban, startedAt: past, endsAt: past + 60, level: 1 });
  await storeBan(storage, { ...ban, startedAt: now - 50, endsAt: now + 250, level: 2 });

  const origin = { keyId: busyKey };
  const names = ['Dog', 'Cat', 'Hamster', ...HOSTILE_NAMES, 'W'.repeat(255)];
  for (const [index, name] of names.entries()) {
    await storage.categories.insert(index < 3 ? { name, description: `All about the ${name}` } : { name }, origin);
  }
  for (const name of ['Rex', 'Minka', HOSTILE_NAMES[0] ?? '']) {
    const { resource } = await storage.pets.insert({ name, categoryId: 1, status: 'available' }, origin);
    await storage.orders.insert({ petId: resource.id, quantity: 1, shipDate: '2026-02-01T08:00:00Z' }, origin);
  }
  const { resource: pig } = await storage.pets.insert(
    { name: 'Guinea pig', categoryId: 3, status: 'available' },
    origin,
  );
  const by = (requestId: string) => ({ ...origin, requestId });
  await storage.pets.setQuantity(pig.id, 6, by('hE7GR_cEMx1KfM2V.1e'));
  const lost = { ...by('hE7GR_cEMx1KfM2V.1f'), idempotency: { key: 'cart-4711', fingerprint: 'f' } };
  const { resource } = await storage.orders.insert({ petId: pig.id, quantity: 2 }, lost);
  await storage.orders.cancel(resource.id, by('hE7GR_cEMx1KfM2V.2a'));
  await storage.categories.rename(2, 'Cats', BY);
  const members = { file: `/srv/${'pet-catalog-'.repeat(9)}.db`, at: now - 60, bytes: 9, durationMs: 9 };
  const event = { at: now - 60, event: 'backup_made', members } as const;
  await storage.audit.addEvent(event, { actor: hostname(), via: 'service' });
  return { busyKey, bannedKey, category: 2, secrets };
}

/** Some requests, so that recent ones are kept: served, refused, and wrong ones. */
async function callLately(service: TestService, [busy, banned]: readonly [string, string]): Promise<void> {
  const paths = ['/categories', '/pets/1', '/pets/999', '/nothing/here', '/categories?limit=0'];
  const calls = paths.map((path) => [busy, path] as const);
  calls.push([banned, '/categories'], [banned, '/orders/1']);
  for (const [index, [secret, path]] of calls.entries()) {
    await service.call(secret, path, { headers: { 'x-request-id': `call-${index}` } });
    service.clock.advance(1);
  }
}

/** Every page there is, by a name for it. */
export function pagesOf({ busyKey, bannedKey, category }: Life): [string, string][] {
  return [
    ['overview', ''],
    ['keys', '/keys'],
    ['keys-none', '/keys?q=unmatched'],
    ['keys-filtered', '/keys?state=active&plan=business&sort=last-used'],
    ['key-new', '/keys/new'],
    ['key-busy', `/keys/${busyKey}`],
    ...['24h', '7d', '1y'].map((range): [string, string] => [`key-${range}`, `/keys/${busyKey}?since=${range}`]),
    ...['6h', '7d', '30d'].map((range): [string, string] => [`overview-${range}`, `?since=${range}`]),
    ['overview-since', '?since=2026-01-01+09:00&until=2026-01-01+10:00'],
    ['key-banned', `/keys/${bannedKey}`],
    ['key-edit', `/keys/${busyKey}/edit`],
    ['key-rotate', `/keys/${busyKey}/rotate`],
    ['key-revoke', `/keys/${busyKey}/revoke`],
    ['categories', '/categories'],
    ['categories-found', '/categories?q=cat'],
    ['category', `/categories/${category}`],
    ['category-hostile', '/categories/5'],
    ['category-delete', `/categories/${category}/delete`],
    ['pets', '/pets'],
    ['pets-filtered', '/pets?status=sold&category=1'],
    ['pet', '/pets/1'],
    ['orders', '/orders'],
    ['orders-of-pet', '/orders?pet=1'],
    ['order', '/orders/1'],
    ['order-cancelled', '/orders/4'],
    ['found', '/requests/why?q=cart-4711'],
    ['audit', '/audit'],
    ['audit-filtered', '/audit?action=key.create'],
    ['audit-events', '/audit?target=service'],
    ['sessions', '/sessions'],
    ['tokens', '/tokens'],
    ['requests', '/requests'],
    ['requests-filtered', `/requests?key=${busyKey}&status=4xx&paused=1`],
    ['why-refused', '/requests/why?q=call-5'],
    ['why-none', '/requests/why?q=unmatched'],
    ['why', '/requests/why'],
    ['why-wrong', '/requests/why?q=call-4'],
    ['why-served', '/requests/why?q=call-0'],
    ['login', '/login?token=x'],
    ['login-none', '/login'],
    ['nothing', '/nothing-here'],
  ];
}

async function addUsage(
  { storage }: TestService,
  at: number,
  byKey: Readonly<Record<string, number | Partial<UsageCounts>>>,
): Promise<void> {
  const records = Object.entries(byKey).map(([keyId, usage]) => {
    const served = typeof usage === 'number' ? Math.round(usage) : 0;
    const counts = typeof usage === 'number' ? { served, clientErrors: Math.round(usage / 60) } : usage;
    return usageAt(keyId, at, counts);
  });
  const all = { ...usageAt(ALL_KEYS, at), ...sumCounts(records) };
  await addRecords(storage, at, [all, ...records]);
}
