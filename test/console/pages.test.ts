import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { secretRecord } from '../../src/catalog/api-key.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import { issueToken, revokeToken } from '../../src/catalog/operator/access.ts';
import { deleteCategory, renameCategory } from '../../src/catalog/operator/changes.ts';
import { VERSION } from '../../src/version.ts';
import { storeBan } from '../kit/bans.ts';
import { untilTrue } from '../kit/clock.ts';
import { type SignedIn, send, signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';
import { addUsage, LIST } from '../kit/usage.ts';

/**
 * The pages of the console, as an operator without scripts reads them, in pages.txt: words, links, fields, and their
 * order. At its end, every element that has attributes, with the number of times that it is on these pages. After a
 * change that is meant: `npx node --test --test-update-snapshots test/console/pages.test.ts`, and read the difference.
 */

const DAY = 86_400;
const CHANCE_HEADERS = new Set(['date', 'x-request-id', 'content-length']);

/** The same text with a number for each id and a word for each value that is another one in every run. */
function withoutChance(text: string, ids: string[]): string {
  const numbered = (id: string) => {
    if (!ids.includes(id)) ids.push(id);
    return `ID${ids.indexOf(id) + 1}`;
  };
  return text
    .replaceAll(/petcat_(live|op)_\w+/g, (secret, kind) => `petcat-${kind}-${secret.length > 20 ? 'SECRET' : 'X'}`)
    .replaceAll(/(?:key|op|session)_\w{16}|session_\w{12}(?=…)/g, numbered)
    .replaceAll(/(import\/)[\w-]{36}/g, '$1JOB')
    .replaceAll(/(name="(?:csrf|seen)" value=")[^"]*/g, '$1TOKEN')
    .replaceAll(/(\/assets\/[a-z]+)[^"]*(\.\w+")/g, '$1$2')
    .replaceAll(/(started|up for) \d+ s\b/g, '$1 N s')
    .replaceAll(/\d+\.\d ms/g, 'N ms')
    .replaceAll(/\d+ of [\d,]+ descriptors/g, 'N descriptors')
    .replaceAll(hostname(), 'HOST')
    .replaceAll(VERSION, 'VERSION')
    .replaceAll(/http:\/\/[\d.]+:\d+/g, 'URL')
    .replaceAll('&amp;', '&');
}

/**
 * What a part of a page says, line by line: links as `[text](address)`, the current one as `[*text*](address)`, fields
 * as `{name=value}`, choices as `{name: one|*chosen*}`, buttons as `(text)`, forms by their address, badges as
 * `‹tone text›`, names that others gave as `⟨name⟩`.
 */
function linesOf(page: string): string {
  return page
    .replaceAll(/<svg.*?<\/svg>|<input type="hidden"[^>]*>/gs, '')
    .replaceAll(/<option value="([^"]*)"( selected)?>([^<]*)<\/option>/g, (_, value, selected, label) => {
      const named = value === label ? label : `${label}=${value}`;
      return selected ? `|*${named}*` : `|${named}`;
    })
    .replaceAll(/<select id="\w+" name="(\w+)"[^>]*>\|?(.*?)<\/select>/g, '{$1: $2}')
    .replaceAll(/<input [^>]*name="(\w+)"[^>]*?value="([^"]*)"([^>]*)>/g, (_, name, value, rest) =>
      rest.includes(' checked') ? `{*${name}=${value}*}` : `{${name}=${value}}`,
    )
    .replaceAll(/<button[^>]*>(.*?)<\/button>/g, '($1)')
    .replaceAll(/<form method="post" action="\/console([^"]*)"[^>]*>/g, '$1: ')
    .replaceAll(/<a [^>]*?href="\/console([^"]*)"([^>]*)>(.*?)<\/a>/g, (_, address, rest, text) =>
      rest.includes(' aria-current') ? `[*${text}*](${address})` : `[${text}](${address})`,
    )
    .replaceAll(/<span class="badge ?(\w*)"[^>]*>(.*?)<\/span>/g, '‹$1 $2›')
    .replaceAll(/<(del|ins)>(.*?)<\/\1>/g, (_, kind, text) => `${kind === 'del' ? '−' : '+'}${text}`)
    .replaceAll(/<bdi>(.*?)<\/bdi>/g, '⟨$1⟩')
    .replaceAll(/<\/(?:p|h1|h2|tr|dd|form|fieldset)>|<\/div>\n/g, '\n')
    .replaceAll(/<\/(?:th|td|dt|label|li|summary)>/g, ' · ')
    .replaceAll(/<[^>]*>/g, '')
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').replaceAll(/^ +|[ ·]+$/g, ''))
    .filter((line) => line !== '')
    .join('\n');
}

/** The elements of a page with attributes, but what the lines have of links, choices and values. */
function elementsOf(page: string): string[] {
  return [...page.matchAll(/<[a-z]\w* [^>]*>/g)].flatMap(([element]) => {
    const rest = element
      .replace(/^<a( class="[^"]*")? href="(?:\/console|#)[^"]*"/, '<a$1')
      .replace(/^<option.*/, '<option>');
    return /^<\w+>$/.test(rest) ? [] : [rest];
  });
}

/** A little of everything, at 12:02:30 of the day. */
async function filled(service: TestService): Promise<string> {
  const { storage, clock } = service;
  const by = { actor: 'dana', via: 'console' } as const;
  const now = () => clock.now().unix;
  const { key } = await service.issue({ name: 'shop', owner: 'cus_1', expiresAt: now() + 20 * DAY });
  const keyId = key.id;
  clock.advance(60);
  const { key: other } = await service.issue({ name: 'other', owner: 'cus_2', plan: 'pro', expiresAt: now() + 90 });
  const limits = { minute: 5_000, day: 90_000 };
  await storage.keys.update(keyId, { plan: 'enterprise', limits, scopes: ['pets:read', 'pets:write'] }, by);
  const oldEndAt = now() + 3_600;
  await storage.keys.rotate(keyId, secretRecord('petcat_live_other'), { now: now(), oldEndAt, by });
  clock.advance(60);
  const at = now();
  const counts = { served: 1_200, clientErrors: 3, refused: 2, serverErrors: 1 };
  await addUsage(storage, at, [{ keyId, ...counts, first: at - 60, last: at }]);
  const few = { served: 7, clientErrors: 0, refused: 3, serverErrors: 0, first: at - 30, last: at - 1 };
  await addUsage(storage, at, [{ keyId: other.id, ...few }], 'GET /v1/pets');
  const durations = [900, 200, 50, 30, 10, 5, 3, 2, 1, 1, 1, 1, 1, 1];
  await storage.usage.addRoutes(at - 120, [{ route: LIST, ...counts, durations }]);
  await storage.usage.addRoutes(at, [
    { route: 'POST /v1/pets', ...counts, served: 4, durations: durations.toReversed() },
  ]);
  const earlier = { keyId, served: 0, clientErrors: 40, refused: 500, serverErrors: 6 };
  for (const ago of [3_900, 3_960, 12 * DAY])
    await addUsage(storage, at - ago, [{ ...earlier, first: at - ago, last: at - ago }]);
  const spent = { minuteEnds: at + 60, minuteUsed: 5_000, day: Math.floor(at / DAY), dayUsed: 1_206 };
  await storage.limits.saveCounts([{ keyId, ...spent }]);
  await storeBan(storage, { keyId, startedAt: at, endsAt: at + 300, level: 2, reason: 'hasty' });
  const origin = { keyId };
  await storage.categories.insert({ name: 'Dog', description: 'Loyal' }, origin);
  await storage.categories.insert({ name: 'Cat' }, origin);
  await storage.categories.insert({ name: 'Eel', description: 'Long' }, origin);
  await storage.categories.import([{ name: 'Bird' }], by, () => {});
  await renameCategory({ storage, by }, 2, 'Cats');
  await deleteCategory({ storage, by }, 3);
  const { resource: rex } = await storage.pets.insert({ name: 'Rex', categoryId: 1, status: 'available' }, origin);
  const { resource: tom } = await storage.pets.insert({ name: 'Tom', categoryId: 2, status: 'available' }, origin);
  await storage.pets.insert({ name: 'Minka', categoryId: 2, status: 'pending' }, origin);
  await storage.pets.setQuantity(rex.id, 2_007);
  await storage.orders.insert({ petId: rex.id, quantity: 3, shipDate: '2026-01-01t12:02:10z' }, origin);
  await storage.orders.insert({ petId: rex.id, quantity: 1_000 }, origin);
  await storage.orders.insert({ petId: tom.id, quantity: 1 }, origin);
  const context = { storage, now: at, by };
  await issueToken(context, { name: 'billing', role: 'keys' });
  await issueToken(context, { name: 'short', role: 'viewer', expiresAt: at + 30 });
  const { token } = await issueToken(context, { name: 'gone', role: 'admin' });
  await revokeToken(context, token.id);
  clock.advance(30);
  return keyId;
}

/** Pages of what `filled` left; KEY is the id of the key. */
const PATHS = [
  ['/audit', '/audit?q=shop&actor=test&action=key.create&target=KEY&since=all', '/owner?owner=none', '/categories/9'],
  [
    '/categories',
    '/categories?q=none',
    '/categories?after=9',
    '/categories/1',
    '/categories/2',
    '/categories/2/delete',
  ],
  ['/categories/import', '/pets', '/pets?status=sold', '/pets?status=pending&category=1', '/pets/1', '/pets/3'],
  ['/orders', '/orders?pet=1', '/orders?pet=3', '/tokens', '/sessions', '/settings', '/nothing'],
  [
    '/keys?sort=oldest',
    '/keys?sort=name',
    '/keys?q=+no%00ne+&sort=name',
    '/keys?page=7',
    '/keys/new',
    '/keys/KEY/edit',
    '/keys/KEY/rotate',
  ],
  ['/keys?owner=cus_1&state=banned&plan=enterprise&expires=30d&sort=last-used', '/keys/KEY/revoke'],
  ['/keys/KEY?done=changed', '/keys/KEY?range=6h', '/keys/KEY?range=30d', '/owner?owner=cus_1&sort=refused'],
  ['/requests', '/requests?key=shop', '/requests?key=none', '/requests?status=served&paused=1', '/requests/why'],
  ['/requests/why?q=KEY', '/requests/why?q=none', '', '?by=owner&range=30d&sort=errors'],
].flat();

test('every page says what is there, and leads and offers to do what it should', async (t) => {
  await using service = await testService();
  const { clock, storage, issue, call } = service;
  const ids: string[] = [];
  const shown: string[] = [];
  const elements: string[] = [];
  const show = async (name: string, answer: Promise<Response>) => {
    const response = await answer;
    const text = withoutChance(await response.text(), ids);
    const [, title, frame = '', main = '', end = ''] =
      /<title>(.*?) · Pet Catalog console<\/title>.*?<body(.*?)<main[^>]*>(.*?)(<footer.*?)?<\/main>/s.exec(text) ?? [];
    if (shown.length === 0) {
      const headers = [...response.headers].filter(([header]) => !CHANCE_HEADERS.has(header));
      const told = headers.map(([header, value]) => `${header}: ${value}`).join('\n');
      shown.push(`== the frame\n${told}\n${linesOf(`<body${frame}\n${end}`)}\n`);
    }
    const [, section = 'no section'] = /aria-current="page">(\w+)</.exec(frame) ?? [];
    const location = response.headers.get('location');
    const page = location === null ? `${title}, in ${section}\n${linesOf(main)}` : `to ${withoutChance(location, ids)}`;
    shown.push(`== ${withoutChance(name, ids)}: ${response.status}, ${page}\n`);
    elements.push(...elementsOf(text));
  };
  const key = await filled(service);
  const operator = await signIn(service);
  const showAll = async (by: SignedIn, paths: readonly string[]) => {
    for (const path of paths.map((each) => each.replace('KEY', key))) {
      await untilTrue(async () => !(await (await by.get(path)).text()).includes('Being added up'));
      await show(path, by.get(path));
    }
  };
  await showAll(operator, PATHS);
  await show('no session /login', send(service, '/login'));
  await show('no session /login?token="x', send(service, '/login?token="x'));
  const post = (path: string, fields: Record<string, string>) => show(`POST ${path}`, operator.post(path, fields));
  const login = () => send(service, '/login', { body: new URLSearchParams({ token: 'x' }) });
  await show('POST /login', login());
  for (let attempt = 2; attempt <= 10; attempt += 1) await login();
  clock.advance(1);
  await show('POST /login', login());
  await show('no session POST /logout', send(service, '/logout', { body: new URLSearchParams() }));
  await show('POST text /logout', send(service, '/logout', { body: 'x', headers: { cookie: operator.cookie } }));
  await show('POST foreign /logout', operator.post('/logout', {}, { 'sec-fetch-site': 'cross-site' }));
  await post('/logout', { csrf: 'x' });
  const upload = (name: string, content: string) => {
    const body = new FormData();
    for (const [field, value] of [
      ['csrf', operator.csrf],
      ['file', new File([content], name)],
    ] as const)
      body.set(field, value);
    return send(service, '/categories/import', { body, headers: { cookie: operator.cookie } });
  };
  await show('POST bad file', upload('bad.ndjson', '{"name":"Dog"}\n{"<name>":1}\n{"name":""}'));
  const job = (await upload('good.csv', 'name\nOwl\nEmu\n')).headers.get('location')?.slice('/console'.length) ?? '';
  await untilTrue(async () => (await operator.page(job)).includes('imported'));
  await show(job, operator.get(job));
  const wanted = { name: ' new <1> ', plan: 'free', scopes: 'pets:read' };
  await post('/keys', {
    ...wanted,
    name: '',
    plan: 'enterprise',
    perMinute: '0',
    owner: 'cus_2',
    expires: '2026-02-03',
  });
  clock.advance(1);
  await post('/keys', wanted);
  clock.advance(1);
  await post(`/keys/${key}/rotate`, { grace: '0' });
  await post(`/keys/${key}/rotate`, { grace: '3600' });
  await post('/tokens', { name: 'n'.repeat(101), role: 'root', life: '31' });
  await post('/tokens', { name: 'new', role: 'admin', life: '30' });
  await post('/categories/1', { name: '' });
  await post('/categories/1/delete', {});
  await post('/audit', {});
  const { key: gone } = await issue({ name: 'gone', expiresAt: clock.now().unix + DAY });
  await storage.keys.revoke(gone.id, clock.now().unix, { actor: 'dana', via: 'api' });
  clock.advance(1);
  const { key: caller, secret } = await issue({ name: 'caller', plan: 'enterprise', limits: { minute: 4, day: 9 } });
  const over = { startedAt: clock.now().unix - 90, endsAt: clock.now().unix, level: 1, reason: 'over' };
  await storeBan(storage, { keyId: caller.id, ...over });
  await showAll(operator, [`/keys/${gone.id}`, '/keys?state=revoked', `/keys/${caller.id}`]);
  clock.advance(60);
  await operator.get('');
  await showAll(await signIn(service, 'keys'), [
    ...['', '/keys/KEY', '/keys?plan=pro', '/categories', '/categories/1', '/categories/1/delete', '/tokens'],
    ...['/categories/import', '/sessions'],
  ]);
  Object.assign(storage.pets, {
    list: () => Promise.reject(new Error('The disk is full')),
    find: () => Promise.reject(new CatalogError('unavailable', 'The disk is <full>')),
  });
  for (const [index, path] of ['/categories', '/pets/9', '/pets', '/nothing', '/categories'].entries())
    await call(secret, path, { headers: { 'x-request-id': `call-${index}` } });
  await operator.get('/owner/export?owner=');
  await untilTrue(async () => (await storage.limits.counts(caller.id))?.minuteUsed === 4);
  const why = [0, 2, 4].map((index) => `/requests/why?q=call-${index}`);
  await showAll(operator, [
    '/requests',
    '/requests?status=server-errors',
    ...why,
    `/requests/why?q=${caller.id}`,
    '/requests/why?q=petcat',
    '/pets',
    '/pets/1',
  ]);
  const { id: token } = (await storage.tokens.list()).find(({ name }) => name === 'short') ?? {};
  const changed = { name: 'shop 2', plan: 'enterprise', perMinute: '7', perDay: '70', scopes: 'pets:read', owner: '' };
  for (const [path, fields] of [
    [`/keys/${key}/edit`, { ...changed, expires: '2026-02-03' }],
    [`/keys/${key}/unban`, {}],
    [`/keys/${key}/unban`, {}],
    [`/keys/${key}/end-graces`, {}],
    [`/keys/${key}/revoke`, {}],
    ['/categories/2', { name: 'Felines' }],
    ['/categories/4/delete', {}],
    [`/tokens/${token}/revoke`, {}],
    ['/sessions/session_none/end', {}],
    ['/logout', {}],
  ] as const)
    await post(path, fields);
  await showAll(await signIn(service, 'viewer'), ['/audit?actor=operator']);
  const counted = Object.entries(Object.groupBy(elements, (each) => each)).map(
    ([element, all]) => `${all?.length} ${element}`,
  );
  shown.push(counted.join('\n'));
  t.assert.fileSnapshot(shown.join('\n'), join(import.meta.dirname, 'pages.txt'), { serializers: [String] });
});
