import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';
import { addUsage, LIST, usageAt } from '../kit/usage.ts';

/** Which customer, which route, when: the tables of usage, and the page of an owner. */

const CREATE = 'POST /v1/categories';

/** Two keys of one owner and one of another, each with its own trouble. */
async function busyService() {
  const service = await testService();
  const now = service.clock.now().unix;
  const keyIds: Record<string, string> = {};
  const use = async (
    keyId: string,
    [served = 0, refused = 0, clientErrors = 0]: readonly number[],
    { at = now, route = LIST }: { at?: number; route?: string } = {},
  ) => {
    await addUsage(service.storage, at, [usageAt(keyId, at, { served, refused, clientErrors })], route);
  };
  for (const [name, owner] of Object.entries({ site: 'cus_1', app: 'cus_1', bot: 'a/b & "c"' }))
    keyIds[name] = (await service.issue({ name, owner })).key.id;
  const { site = '', app = '', bot = '' } = keyIds;
  await use(site, [50]);
  await use(site, [7], { route: CREATE });
  await use(app, [4, 0, 30]);
  await use(app, [100], { at: now - 40 * 86_400 });
  await use(bot, [10, 60, 0]);
  return { service, operator: await signIn(service), keyIds };
}

/** The heads of the rows of a section. */
function headsIn(text: string, section: string): string[] {
  const [, found = ''] = new RegExp(`<section id="${section}".*?</section>`, 's').exec(text)?.[0].split('<tbody') ?? [];
  return [...found.matchAll(/<th scope="row">(.*?)<\/th>/gs)].map(([, head = '']) =>
    head.replaceAll(/<[^>]*>/g, '').trim(),
  );
}

test('the busiest, the most refused and the most failing keys and owners are a click apart', async () => {
  const { service, operator } = await busyService();
  await using _ = service;
  const shown = async (query: string, group = 'keys') => {
    const text = await operator.page(`?${query}`);
    return [new RegExp(`id="${group}-heading">([^<]*)<`).exec(text)?.[1]?.trim(), ...headsIn(text, group)];
  };
  for (const range of ['1h', '24h', '1y']) {
    const oldest = range === '1y' ? ['app', 'bot', 'site'] : ['bot', 'site', 'app'];
    assert.deepEqual(await shown(`since=${range}`), ['Keys with most requests', ...oldest], range);
    assert.deepEqual(await shown(`since=${range}&sort=refused`), ['Keys with most refusals', 'bot'], range);
    assert.deepEqual(await shown(`since=${range}&sort=errors`), ['Keys with most errors', 'app'], range);
  }
  assert.deepEqual(await shown('since=24h&by=owner', 'owners'), [
    'Owners with most requests',
    'cus_1',
    'a/b &amp; &quot;c&quot;',
  ]);
  const text = await operator.page('?since=24h&sort=refused&done=ban.lift');
  const links = [...text.matchAll(/href="\/console\?([^"#]*)#[\w-]+"/g)].map(([, query = '']) =>
    query.replaceAll('&amp;', '&'),
  );
  for (const link of ['since=24h&sort=errors', 'since=24h&sort=refused&by=owner', 'since=1h&sort=refused'])
    assert.ok(links.includes(link), `${link} in ${links}`);
});

test('an owner has a page with its keys, its routes, and its usage by month', async () => {
  const { service, operator, keyIds } = await busyService();
  await using _ = service;
  const overview = await operator.page('?by=owner&since=24h');
  const [, link = ''] = /href="\/console(\/owner[^"]*a%2Fb[^"]*)"/.exec(overview) ?? [];
  assert.match(await operator.page(link.replaceAll('&amp;', '&')), /<h1><bdi>a\/b &amp; &quot;c&quot;<\/bdi><\/h1>/);
  const text = await operator.page('/owner?owner=cus_1&since=24h');
  assert.match(text, /2 keys of this owner/);
  assert.match(text, />57 served<|>61 served</);
  assert.deepEqual(headsIn(text, 'keys'), ['site', 'app']);
  assert.doesNotMatch(text, /data-column="Owner"/);
  assert.match(await operator.page('?since=24h'), /data-column="Owner"/);
  assert.deepEqual(headsIn(text, 'routes'), ['GET /v1/categories', 'POST /v1/categories']);
  const inHour = await operator.page('/owner?owner=cus_1&since=1h');
  assert.deepEqual(headsIn(inHour, 'routes'), ['GET /v1/categories', 'POST /v1/categories']);
  assert.match(inHour, /in the last hour, whole hours</);
  assert.match(inHour, /href="\/console\/owner\?owner=cus_1&(?:amp;)?since=1h&(?:amp;)?sort=errors#sort-links"/);
  const failing = await operator.page('/owner?owner=cus_1&since=24h&sort=errors');
  assert.deepEqual([headsIn(failing, 'keys'), headsIn(failing, 'routes')], [['app'], ['GET /v1/categories']]);
  const ofKey = await operator.page(`/keys/${keyIds.site}?since=24h`);
  assert.deepEqual(headsIn(ofKey, 'routes'), ['GET /v1/categories', 'POST /v1/categories']);
  assert.match(ofKey, /href="\/console\/owner\?owner=cus_1"/);
  const file = await operator.get('/usage/export?owner=cus_1&by=month&group=key&since=2y');
  assert.deepEqual(
    [file.headers.get('content-type'), file.headers.get('content-disposition')],
    ['text/csv; charset=utf-8', 'attachment; filename="usage.csv"'],
  );
  assert.equal((await operator.get('/owner?owner=none')).status, 404);
  assert.match(await operator.page('/owner?owner=cus%00_1'), /2 keys of this owner/, 'no database takes a NUL');
});

test('charts, tables and exports have the time of the address, and a bar leads to its own', async () => {
  const { service, operator, keyIds } = await busyService();
  await using _ = service;
  const { app = '' } = keyIds;
  const november = 'since=2025-11-20+00:00&until=2025-11-25+00:00';
  const text = await operator.page(`/keys/${app}?${november}&sort=errors`);
  assert.match(text, />100 served</);
  assert.match(text, /id="routes-heading">[^<]*<small>in the time from 2025-11-20 00:00 to 2025-11-25 00:00 UTC</);
  const step = 'since=2025-11-22+12%3A00&amp;until=2025-11-22+15%3A00';
  const link = `href="/console/keys/${app}?sort=errors&amp;${step}#since-links"`;
  assert.equal(text.split(link).length - 1, 2, 'of the bar, and of its row in the table');
  const hour = await operator.page(`/keys/${app}?${step.replaceAll('&amp;', '&')}`);
  assert.match(hour, /<th scope="row"><a [^>]*since=2025-11-22\+12%3A00&amp;until=2025-11-22\+13%3A00#/);
  const months = async (query: string) =>
    (await (await operator.get(`/usage/export?owner=cus_1&by=month&group=key&${query}`)).text()).match(/^20..-../gm);
  assert.deepEqual(
    [await months(november), await months('since=2y')],
    [['2025-11'], ['2025-11', '2026-01', '2026-01']],
  );
  assert.equal((await operator.get('/owner?owner=cus_1&since=x')).status, 400);

  const { key, secret } = await service.issue({ name: 'now', owner: 'cus_10' });
  await service.call(secret, '/pets');
  const minutes = async (from: string, to: string) =>
    (await operator.page(`/requests?since=2026-01-01+${from}&until=2026-01-01+${to}`)).match(
      /data-column="Request id"/g,
    )?.length ?? 0;
  assert.deepEqual([await minutes('12:00', '12:01'), await minutes('11:59', '12:00')], [1, 0]);
  await operator.get('/usage/export?owner=cus_1&by=month&group=key&since=2y');
  const ofKey = await operator.page(`/keys/${key.id}?since=1h`);
  assert.ok(ofKey.includes(`href="/console/requests?key=${key.id}&amp;since=2026-01-01+12%3A00&amp;`));
  const [, ofOwner = ''] = /\/console(\/requests\?owner=[^"]*)/.exec(await operator.page('/owner?owner=cus_10')) ?? [];
  assert.match(await operator.page(ofOwner.replaceAll('&amp;', '&')), />now</);
  const ofAnother = ofOwner.replaceAll('&amp;', '&').replace('cus_10', 'cus_1');
  assert.match(await operator.page(ofAnother), /No request found/, 'of that owner alone');
  const last = await operator.page('?since=1h');
  assert.match(last, /href="\/console\/requests\?since=2026-01-01\+12%3A00&amp;until=2026-01-01\+12%3A01"/);
});
