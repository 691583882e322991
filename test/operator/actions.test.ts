import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { includesRole, ROLES, type Role } from '../../src/catalog/operator/access.ts';
import { send } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { aCategory, aKey, openPlace, type Place, ROWS, type Row, type Say } from './action-rows.ts';

/**
 * Every action of an operator by every door: right input, wrong input, a role that does not suffice, a revoked target,
 * a target that is not there, and one that was changed since it was read.
 */

const place = await openPlace();
after(() => place[Symbol.asyncDispose]());

describe('every action by every door', () => {
  for (const row of ROWS) {
    for (const door of ['console', 'api', 'command'] as const) {
      if (!row[door]) continue;
      const via = door === 'command' ? 'cli' : door;
      const tries = triesOf(row, door);

      test(`${row.action} by ${door}: done, and in the audit`, async () => {
        const id = (await row.target?.(place)) ?? '';
        const { outcome, text } = await tries.right(place, id);
        assert.equal(outcome, 'done', text);
        const [entry] = await audit(place);
        assert.deepEqual([entry?.action, entry?.operator.via], [row.action, via]);
        if (id !== '') assert.equal(entry?.target, id);
        if (door !== 'command') assert.equal(entry?.operator.actor, door === 'api' ? row.role : 'operator');
        for (const side of ['before', 'after'] as const) {
          if (row.audited && side in row.audited) assertPart(entry?.[side], row.audited[side]);
        }
      });

      if (tries.wrong.length > 0) {
        test(`${row.action} by ${door}: wrong input changes nothing`, async () => {
          const id = (await row.target?.(place)) ?? '';
          const was = await everything(place);
          for (const [attempt, says] of tries.wrong) {
            const { outcome, text } = await attempt(place, id);
            assert.equal(outcome, 'invalid', text);
            assert.match(text, says);
          }
          assert.equal(await everything(place), was);
        });
      }

      if (door !== 'command') {
        test(`${row.action} by ${door}: a role below ${row.role} changes nothing`, async () => {
          const id = (await row.target?.(place)) ?? '';
          const was = await everything(place);
          for (const role of ROLES.filter((each) => !includesRole(each, row.role))) {
            assert.equal((await tries.right(place, id, role)).outcome, 'forbidden', role);
          }
          assert.equal((await tries.stranger(place, id)).outcome, 'not signed in');
          assert.equal(await everything(place), was);
        });
      }

      if (row.revoked) {
        test(`${row.action} by ${door}: a revoked key is final`, async () => {
          const id = (await row.target?.(place)) ?? '';
          await place.service.storage.keys.revoke(id, place.service.clock.now().unix, OPERATOR);
          const was = await everything(place);
          const { outcome, text } = await tries.right(place, id);
          assert.equal(outcome, row.revoked === 'refused' ? 'conflict' : 'done', text);
          if (row.revoked === 'refused') assert.match(text, new RegExp(`The key ${id} is revoked; issue a new one`));
          assert.equal(await everything(place), was);
        });
      }

      if (row.missing) {
        test(`${row.action} by ${door}: what is not there is named`, async () => {
          const was = await everything(place);
          const { outcome, text } = await tries.right(place, row.missing?.id ?? '');
          assert.equal(outcome, door === 'command' ? 'conflict' : 'not found', text);
          assert.match(text, row.missing?.says ?? /^$/);
          assert.equal(await everything(place), was);
        });
      }

      if (door === 'api' && row.target) {
        test(`${row.action} by api: what was changed since is left alone`, async () => {
          const id = (await row.target?.(place)) ?? '';
          const was = await everything(place);
          const { outcome, text } = await tries.right(place, id, row.role, { 'if-match': '"of-another-state"' });
          assert.equal(outcome, 'stale', text);
          assert.equal(await everything(place), was);
        });
      }

      if (door === 'console' && row.guard) {
        test(`${row.action} by console: another operator's change is shown, not undone`, async () => {
          const { page, field, change } = row.guard as NonNullable<Row['guard']>;
          const id = (await row.target?.(place)) ?? '';
          const seen = fieldIn(await place.sessions.admin.page(page.replace('ID', id)), field);
          await change(place, id);
          const was = await everything(place);
          const { outcome, text } = await tries.right(place, id, row.role, { [field]: seen });
          assert.equal(outcome, 'conflict');
          assert.match(text, /It was changed in the meantime/);
          assert.equal(await everything(place), was);
          const again = await tries.right(place, id, row.role, { [field]: fieldIn(text, field) });
          assert.equal(again.outcome, 'done');
        });
      }
    }
  }

  test('a category with pets stays, by every door', async () => {
    const { storage } = place.service;
    const id = await aCategory(place);
    await storage.pets.insert({ name: 'Rex', categoryId: Number(id), status: 'available' }, { keyId: 'k' });
    for (const door of ['console', 'api', 'command'] as const) {
      const row = ROWS.find(({ action }) => action === 'category.delete') as Row;
      const { outcome, text } = await triesOf(row, door).right(place, id);
      assert.equal(outcome, 'conflict', door);
      assert.match(text, new RegExp(`The category ${id} has pets, so it was not deleted`));
    }
    assert.ok(await storage.categories.find(Number(id)));
  });

  test('a ban that is not on is “not found” at every door, which says so', async () => {
    const id = await aKey(place);
    const row = ROWS.find(({ action }) => action === 'ban.lift') as Row;
    for (const door of ['console', 'command', 'api'] as const) {
      const { outcome, text } = await triesOf(row, door).right(place, id);
      assert.equal(outcome, door === 'command' ? 'conflict' : 'not found', door);
      assert.match(text, new RegExp(`The key ${id} is not banned`));
    }
  });
});

type Outcome =
  | 'done'
  | 'invalid'
  | 'forbidden'
  | 'not signed in'
  | 'not found'
  | 'conflict'
  | 'stale'
  | `other ${string}`;
interface Tried {
  readonly outcome: Outcome;
  readonly text: string;
}
type Extra = Readonly<Record<string, string>>;
type Try = (place: Place, id: string, role?: Role, extra?: Extra) => Promise<Tried>;

const BY_STATUS: Readonly<Record<number, Outcome>> = {
  200: 'done',
  201: 'done',
  204: 'done',
  303: 'done',
  400: 'invalid',
  401: 'not signed in',
  403: 'forbidden',
  404: 'not found',
  409: 'conflict',
  412: 'stale',
};
const BY_EXIT: Readonly<Record<number, Outcome>> = { 0: 'done', 1: 'conflict', 2: 'invalid' };

/** The attempts of a row at a door. */
function triesOf(
  row: Row,
  door: 'console' | 'api' | 'command',
): { right: Try; stranger: Try; wrong: readonly (readonly [Try, Say])[] } {
  const put = (text: string, id: string) => text.replace('ID', id);
  if (door === 'command') {
    const { args = '', wrong = [] } = row.command ?? {};
    const attempt =
      (line: string): Try =>
      async (place, id) => {
        const { code, stdout, stderr } = await place.command(put(line, id));
        return { outcome: BY_EXIT[code ?? 9] ?? `other ${code}`, text: code === 0 ? stdout + stderr : stderr };
      };
    const never: Try = () => assert.fail('the system lets no stranger in');
    return { right: attempt(args), stranger: never, wrong: wrong.map(([line, says]) => [attempt(line), says]) };
  }
  if (door === 'api') {
    const { route = '', body, wrong = [] } = row.api ?? {};
    const [method = '', path = ''] = route.split(' ');
    const attempt =
      (sent: object | undefined): Try =>
      async (place, id, role = row.role, extra = {}) =>
        triedOf(await place.clients[role].send(method, put(path, id), sent, extra));
    return {
      right: attempt(body),
      stranger: (place, id) => attempt(body)(place, id, row.role, { authorization: 'Bearer petcat_op_x' }),
      wrong: wrong.map(([sent, says]) => [attempt(sent), says]),
    };
  }
  const { path = '', form = {} } = row.console ?? {};
  return {
    right: async (place, id, role = row.role, extra = {}) =>
      triedOf(await place.sessions[role].post(put(path, id), { ...form, ...extra })),
    async stranger({ service }, id) {
      const { outcome, text } = await triedOf(await send(service, put(path, id), { body: new URLSearchParams() }));
      const isStranger = outcome === 'forbidden' && /session has ended/.test(text);
      return { outcome: isStranger ? 'not signed in' : `other than a stranger: ${outcome}`, text };
    },
    wrong: [],
  };
}

async function triedOf(answer: Response): Promise<Tried> {
  const [{ status }, text] = [answer, await answer.text()];
  const message = text.startsWith('{') ? ((JSON.parse(text) as { message?: string }).message ?? text) : text;
  return { outcome: BY_STATUS[status] ?? `other ${status}`, text: message };
}

function fieldIn(page: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? assert.fail(`no ${name}`);
}

/** Asserts that an object has these members; anything else is compared whole. */
function assertPart(found: unknown, wanted: unknown): void {
  if (wanted === null || Array.isArray(wanted) || typeof wanted !== 'object') {
    assert.deepEqual(found, wanted);
    return;
  }
  const names = Object.keys(wanted);
  assert.deepEqual(Object.fromEntries(names.map((name) => [name, (found as Record<string, unknown>)?.[name]])), wanted);
}

/** The audit, newest first, without the sessions and tokens that the test itself opened. */
function audit({ service }: Place) {
  return service.storage.audit.list({ since: 0, limit: 1 });
}

/** All that an action could change. */
async function everything({ service: { storage, clock } }: Place): Promise<string> {
  const { unix: now } = clock.now();
  const { keys } = await storage.keys.list({ now, limit: 1_000 });
  const ids = keys.map(({ id }) => id);
  const graces = [...(await storage.keys.graces(ids, now))];
  const audited = await storage.audit.list({ since: 0, limit: 10_000 });
  const others = [await storage.keys.bans(now), await storage.categories.list(), await storage.tokens.list()];
  return JSON.stringify([keys, graces, audited, others, (await storage.sessions.list(now)).map(({ id }) => id)]);
}
