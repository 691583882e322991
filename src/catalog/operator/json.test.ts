import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey } from '../api-key.ts';
import { auditCsv, keysCsv, usageCsv } from './csv.ts';
import { auditJson, banJson, keyJson, tokenJson, usageJson } from './json.ts';

/** What operators are told of keys, bans, usage, tokens and changes, as JSON and as CSV. */

const at = (seconds: number) => `1970-01-01T00:00:${`${seconds}`.padStart(2, '0')}Z`;
const made = newApiKey({ name: '=x', environment: 'staging', plan: 'pro', expiresAt: 9, owner: 'o' }, 1).key;
const key = {
  ...made,
  scopes: ['pets:read', 'pets:write'] as const,
  revokedAt: 3,
  ban: { startedAt: 0, endsAt: 60, level: 1, reason: 'r', ends: 60 },
};
const counts = { served: 1, refused: 2, clientErrors: 3, serverErrors: 4 };
const entry = {
  id: 7,
  at: 5,
  operator: { actor: 'ann', via: 'console' },
  action: 'key.update',
  target: key.id,
  before: { expiresAt: null, plan: 'free', format: 2 },
  after: { expiresAt: 9, plan: 'pro', revokedAt: 8 },
} as const;

test('moments are in UTC, and nothing has a member more or less', () => {
  const { id, prefix } = key;
  const of = { id, prefix, environment: 'staging', plan: 'pro', limits: { minute: 300, day: 10_000 } };
  assert.deepEqual(keyJson(key, { now: 59, lastUsedAt: 4, graces: [{ prefix: 'p', endsAt: 6 }] }), {
    ...of,
    name: '=x',
    scopes: ['pets:read', 'pets:write'],
    createdAt: at(1),
    expiresAt: at(9),
    revokedAt: at(3),
    owner: 'o',
    lastUsedAt: at(4),
    ban: { until: '1970-01-01T00:01:00Z', reason: 'r' },
    graces: [{ prefix: 'p', endsAt: at(6) }],
  });
  assert.deepEqual([keyJson(key, { now: 60 }).ban, keyJson(key, { now: 60 }).lastUsedAt], [null, null]);
  assert.deepEqual(banJson({ keyId: id, startedAt: 1, endsAt: 2, level: 3, reason: 'r' }), {
    keyId: id,
    startedAt: at(1),
    endsAt: at(2),
    level: 3,
    reason: 'r',
  });
  assert.deepEqual(usageJson({ id, name: null, owner: null, ...counts, first: 1, last: 2, at: 3 }), {
    id,
    name: '',
    owner: null,
    ...counts,
    first: at(1),
    last: at(2),
  });
  const token = { id: 'op_1', name: 'n', prefix: 'p', role: 'keys', createdAt: 1 } as const;
  assert.deepEqual(tokenJson({ ...token, expiresAt: 2, revokedAt: null }), {
    ...token,
    createdAt: at(1),
    expiresAt: at(2),
    revokedAt: null,
  });
  assert.equal(tokenJson({ ...token, expiresAt: null, revokedAt: 3 }).revokedAt, at(3));
  assert.deepEqual(auditJson(entry), {
    at: at(5),
    actor: 'ann',
    via: 'console',
    action: 'key.update',
    target: id,
    before: { expiresAt: null, plan: 'free', format: 2 },
    after: { expiresAt: at(9), plan: 'pro', revokedAt: at(8) },
  });
});

test('CSV has a column for each, and is read a part at a time to its end', async (t) => {
  let turns = 0;
  const turn = () => {
    turns += 1;
    turning = setImmediate(turn);
  };
  let turning = setImmediate(turn);
  t.after(() => clearImmediate(turning));
  const turnsAt: number[] = [];
  const keys = {
    page: async ({ behind }: { behind?: object }) => {
      turnsAt.push(turns);
      return { keys: [key], last: behind ? undefined : {} };
    },
    graces: async () => new Map(),
  };
  const usage = { lastUses: async () => new Map([[key.id, 4]]) };
  const row = `${key.id},'=x,${key.prefix},o,staging,pro,300,10000,pets:read pets:write,${at(1)},${at(9)},${at(3)},${at(4)},1970-01-01T00:01:00Z\n`;
  assert.equal(
    await keysCsv({ storage: { keys, usage } as never, now: 59 }, { text: '' }),
    `id,name,prefix,owner,environment,plan,perMinute,perDay,scopes,createdAt,expiresAt,revokedAt,lastUsedAt,bannedUntil\n${row}${row}`,
  );
  const asked: unknown[] = [];
  const audit = {
    list: async ({ before, limit }: { before?: number; limit: number }) => {
      asked.push([before, limit]);
      turnsAt.push(turns);
      return Array.from({ length: before === undefined ? limit : 1 }, (_, index) => ({ ...entry, id: 1_000 - index }));
    },
  };
  const [header, first, ...rest] = (await auditCsv({ storage: { audit } as never }, { since: 0 })).trim().split('\n');
  assert.equal(header, 'at,actor,via,action,target,before,after');
  assert.equal(
    first,
    `${at(5)},ann,console,key.update,${key.id},"{""expiresAt"":null,""plan"":""free"",""format"":2}","{""expiresAt"":""${at(9)}"",""plan"":""pro"",""revokedAt"":""${at(8)}""}"`,
  );
  assert.equal(rest.length, 200);
  assert.deepEqual(asked, [
    [undefined, 200],
    [801, 200],
  ]);
  const [firstKeys = 0, secondKeys = 0, firstEntries = 0, secondEntries = 0] = turnsAt;
  assert.ok(secondKeys > firstKeys && secondEntries > firstEntries, `requests are served in between: ${turnsAt}`);
  const counts = { served: 1, refused: 2, clientErrors: 3, serverErrors: 4 };
  const sums = { ...counts, first: at(1), last: at(2) };
  assert.equal(
    usageCsv([{ ...sums, id: '@a', name: 'shop', owner: null }], 'key', false),
    `id,name,owner,served,refused,clientErrors,serverErrors,first,last\n'@a,shop,,1,2,3,4,${at(1)},${at(2)}\n`,
  );
  assert.equal(
    usageCsv([{ ...counts, at: at(9) }], 'all', true),
    `at,served,refused,clientErrors,serverErrors\n${at(9)},1,2,3,4\n`,
  );
  // A reader of the header finds one where there was no usage.
  assert.equal(usageCsv([], 'owner', false), 'owner,served,refused,clientErrors,serverErrors,first,last\n');
  assert.equal(usageCsv([], 'route', true), 'at,route,served,refused,clientErrors,serverErrors,first,last\n');
});
