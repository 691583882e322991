import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { claimFile } from '../../src/storage/sqlite/claim.ts';
import { manualClock } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { BESIDE_SQLITE, commandsOn, noteForCommands, wordsOf } from '../kit/process.ts';
import { type TestService, testService } from '../kit/service.ts';
import { addUsage, LIST } from '../kit/usage.ts';

/** The questions of the runbook: each command that it names is run, and gives the answer. */

const PAGE = new URL('../../docs/operations.md', import.meta.url);
/** The moment at which the dates of the page are those of yesterday. */
const NOW = Date.UTC(2026, 10, 26, 18) / 1_000;
const DAY_SECONDS = 86_400;
const PETS = 'GET /v1/pets/{petId}';

/** The commands of the page, by their question. */
function commandsOf(page: string): Map<string, string[]> {
  const [, section = ''] = /^## Questions\n([\s\S]*?)^## /m.exec(page) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const cells = rows.slice(2).map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(
    cells.map(([, question = '', , commands = '']) => [
      question,
      [...commands.matchAll(/`([a-z][^`]* [^`]*|doctor)`/g)].map(([, command = '']) => command),
    ]),
  );
}

/** A shop that was used for two months. */
async function fill(service: TestService) {
  const { storage } = service;
  const used = async (keyId: string, at: number, counts: object, route = LIST) => {
    const record = { keyId, first: at, last: at, served: 0, clientErrors: 0, refused: 0, serverErrors: 0, ...counts };
    await addUsage(storage, at, [record], route);
  };
  const shop = await service.issue({ name: 'shop', owner: 'acme', plan: 'pro' });
  const partner = await service.issue({ name: 'partner', owner: 'globex', plan: 'pro' });
  const old = await service.issue({ name: 'old', expiresAt: NOW + 3 * DAY_SECONDS });
  for (const name of ['over', 'gone']) {
    const { key } = await service.issue({ name, ...(name === 'over' && { expiresAt: NOW + 1 }) });
    if (name === 'gone') await storage.keys.revoke(key.id, NOW, OPERATOR);
  }
  service.clock.advance(2);
  await service.issue({ name: 'lasting', expiresAt: NOW + 30 * DAY_SECONDS });
  const yesterday = Date.UTC(2026, 10, 25) / 1_000;
  await used(shop.key.id, yesterday + 3_600, { served: 900 });
  await used(shop.key.id, Date.UTC(2026, 9, 3) / 1_000, { served: 31 });
  await used(shop.key.id, Date.UTC(2026, 10, 3) / 1_000, { served: 5 });
  await used(partner.key.id, yesterday + 14 * 3_600 + 180, { serverErrors: 7 });
  await used(shop.key.id, yesterday + 14 * 3_600 + 240, { serverErrors: 2 });
  await used(partner.key.id, yesterday, { served: 12 }, PETS);
  await used(old.key.id, NOW - 40 * DAY_SECONDS, { served: 1 });
  await used(partner.key.id, NOW - 600, { served: 3 }, PETS);
  const day = Math.floor(NOW / DAY_SECONDS);
  await storage.limits.saveCounts([{ ...NO_COUNTS, keyId: partner.key.id, day, dayUsed: 9_000 }]);
  await storage.audit.addEvent(
    { at: NOW - DAY_SECONDS, event: 'started', members: { version: '0.3.0' } },
    { actor: 'host', via: 'service' },
  );
  await storage.keys.update(old.key.id, { name: 'older' }, OPERATOR);
  const { resource: pet } = await storage.pets.insert(
    { name: 'Rex', status: 'available', ...(await category(service)) },
    { keyId: shop.key.id },
  );
  await storage.pets.setQuantity(pet.id, 3, { keyId: shop.key.id });
  const idempotency = { key: 'cart-4711', fingerprint: 'f' };
  await storage.orders.insert({ petId: pet.id, quantity: 2 }, { keyId: shop.key.id, idempotency });
  await service.call(shop.secret, '/categories?limit=0', { headers: { 'x-request-id': 'wrong-1' } });
  await apiClient(service, 'viewer', 'operator');
  await signIn(service);
  return { shop, partner, old };
}

async function category({ storage }: TestService): Promise<{ categoryId: number }> {
  const { resource } = await storage.categories.insert({ name: 'Dog' }, { keyId: 'k' });
  return { categoryId: resource.id };
}

test('each command of the questions in the runbook gives the answer', BESIDE_SQLITE, async () => {
  await using service = await testService({}, manualClock(NOW));
  const run = commandsOn(service);
  const { shop, partner } = await fill(service);
  noteForCommands(service);
  const { database } = service.config;
  using _claim = claimFile(database.engine === 'sqlite' ? database.file : '');

  const names = {
    'REQUEST-ID': 'wrong-1',
    PREFIX: shop.key.prefix,
    ID: partner.key.id,
    KEY: shop.key.id,
    ORDER: 'cart-4711',
    NAME: 'operator',
  };
  /** What each command of a question prints: the lines of tables without their ids. */
  const ANSWERS: Readonly<Record<string, readonly RegExp[]>> = {
    'Which keys are used most this week?': [/^ID .*\nkey_\w+ +shop +acme +900 .*\nkey_\w+ +partner +globex +15 .*\n$/],
    'Which are near the limit of the day?': [/^ID .*\nkey_\w+ +partner .* 9,000 \(90 %\) .*\n$/],
    'Why was this request refused?': [/^400 validation_failed: A value is missing/],
    'Who got a 5xx at 14:03 yesterday?': [/^ID .*\nkey_\w+ +partner +globex +0 +0 +0 +7 .*\n$/],
    'Who changed what?': [/test +cli +key\.update +key_\w+ +\{"name":"old"\} → \{"name":"older"\}/],
    'Which were not used for 30 days?': [/^ID .*\nkey_\w+ +lasting .*\nkey_\w+ +older .*\n$/],
    'Which expire this week?': [/^ID .*\nkey_\w+ +older .* active until 2026-11-29T18:00:00Z\n$/],
    'What changed since the release?': [
      /^AT .*\n2026-11-25T18:00:00Z +host +service +started .*"version":"0\.3\.0"/,
      /key\.update .*"older"/,
    ],
    'Is there room, and a good backup?': [
      /catalog: 1 of 100000 categories\n(?:.*\n)*.*MiB are free(?:.*\n)*.*backups: /,
    ],
    'What did this key change?': [/^AT .*\n\S+ +key_\w+ +key +order\.place +1 .*\n\S+ +key_\w+ +key +pet\./],
    'A key leaked: whose is it?': [/^ID .*\nkey_\w+ +shop .* acme .*\n$/],
    'A customer needs more at once': [/"plan": "business"/],
    'An order is lost': [/"action": "order.place"/],
    'What did this customer order?': [/^ORDER .*\n1 +open +Rex +2 +\S+ +shop of acme(?: .*)?\n$/],
    'What did they use in October?': [/^owner,.*\nacme,31,.*\n,1,.*\n$/],
    'Who can log in?': [/^ID .*\nsession_\w+ +operator +admin /, /^ID .*\nop_\w+ +operator +\S+ +viewer .* active/],
    'An employee leaves': [/^1 of operator: session_/, /^1 of operator: op_/],
    'Who still calls what is deprecated?': [/^ID .*\nkey_\w+ +partner +globex +15 .*\n$/],
  };
  const asked = commandsOf(readFileSync(PAGE, 'utf8'));
  assert.deepEqual([...asked.keys()], Object.keys(ANSWERS));
  for (const [question, commands] of asked) {
    const answers = ANSWERS[question] ?? [];
    assert.equal(commands.length, answers.length, question);
    for (const [index, command] of commands.entries()) {
      const words = wordsOf(command).map((word) => `'${names[word as keyof typeof names] ?? word}'`);
      const { stdout, stderr, code } = await run(words.join(' '));
      assert.equal(code, 0, `${command}: ${stderr}`);
      const told = command.includes('--actor') ? stderr : stdout;
      assert.match(told, answers[index] as RegExp, `${command}: ${told}${stderr}`);
    }
  }
});

test('the recent requests and the reason of a refusal are asked of the running service', BESIDE_SQLITE, async () => {
  await using service = await testService();
  const command = commandsOn(service);
  const { key, secret } = await service.issue({
    name: 'shop',
    owner: 'cus_1',
    plan: 'enterprise',
    limits: { minute: 1, day: 9 },
  });
  await service.call(secret, '/categories', { headers: { 'x-request-id': 'first' } });
  const shop = { 'x-request-id': 'second', 'user-agent': `Shop/2\t${'x'.repeat(1_000)}` };
  await service.call(secret, '/categories', { headers: shop });
  noteForCommands(service);
  const listed = await command('requests --owner cus_1 --status 4xx --json');
  assert.equal(listed.code, 0, listed.stderr);
  assert.deepEqual(
    JSON.parse(listed.stdout).map(({ requestId }: { requestId: string }) => requestId),
    ['second'],
    listed.stderr,
  );
  assert.equal(listed.stderr, `Asked the instance at ${service.operatorUrl}\n`);
  const [named] = JSON.parse((await command('requests --client SHOP/2 --json')).stdout);
  assert.deepEqual([named.requestId, named.userAgent], ['second', `Shop/2${'x'.repeat(94)}`]);
  assert.match((await command('requests first')).stdout, /200 +GET \/v1\/categories +key_\w+ +[\d.]+ +first/);
  for (const asked of ['second', key.id, key.prefix, secret]) {
    const why = await command(`why ${asked}`);
    assert.match(
      why.stdout,
      /^Over the limit of the minute: the key had used its 1 request\.\nA minute begins/,
      why.stderr,
    );
  }
  const unknown = await command('why none');
  assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /keeps no request "none", and no key is called that; the log has a line/);
  const { secret: other } = await service.issue({ name: 'till', owner: 'cus_2', plan: 'business' });
  for (let call = 0; call < 102; call += 1) await service.call(other, '/categories');
  const many = async (limit: string) =>
    JSON.parse((await command(`requests --owner cus_2 --json ${limit}`)).stdout).length;
  assert.deepEqual([await many(''), await many('--limit 101'), await many('--limit 1')], [102, 101, 1]);
  const several = await command('why petcat_live');
  assert.deepEqual(
    [several.code, several.stderr],
    [1, 'pet-catalog: "petcat_live" may mean several keys; send the id of one\n'],
  );
  const wrong = await command('requests --since tomorrow');
  assert.deepEqual([wrong.code, wrong.stderr.slice(0, 34)], [2, 'pet-catalog: --since is "tomorrow"']);
});
