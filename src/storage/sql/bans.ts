import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { type Ban, cappedBan, enforced, nextBan, type RunningBan } from '../../catalog/ban.ts';
import type { ResetWindow } from '../../catalog/window-counts.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Moment } from '../../stdx/time.ts';
import type { Transaction } from '../engine.ts';
import { recordAudit } from './audit.ts';
import { assignments, insertInto } from './statement.ts';
import type { Tables } from './tables.ts';

type BanRow = Tables['bans'];

/** Bans a key as `KeyStorage.impose` promises, in a transaction that is serialised with every other one. */
export async function imposeBan(
  trx: Transaction,
  keyId: string,
  ban: Ban,
  { banGeneration, isAnswered, now }: { banGeneration: number; isAnswered: boolean; now: Moment },
): Promise<{ ban: RunningBan; isNew: boolean } | undefined> {
  const [key] = await trx.all<Pick<Tables['api_keys'], 'epoch'>>(sql`select epoch from api_keys where id = ${keyId}`);
  if (!key || banGeneration < key.epoch) return undefined;
  assert(banGeneration === key.epoch, 'no generation begins but in storage');
  const [last] = await trx.all<BanRow>(sql`
    select * from bans where key_id = ${keyId} and lifted_at is null order by started_at desc limit 1`);
  const next = isAnswered ? ban : nextBan(last && toBan(last), ban);
  const standing = await readStanding(trx, keyId, { next, now: now.unix });
  if (standing) return { ban: enforced(standing, now), isNew: false };
  const { startedAt, endsAt, level, reason } = next;
  const row = { key_id: keyId, started_at: startedAt, ends_at: endsAt, level, reason, lifted_at: null };
  await trx.run(insertInto('bans', [row]));
  return { ban: enforced(toBan(row), now), isNew: true };
}

/**
 * The ban that stands in the place of the next one, because the two would overlap. One that lies ahead was dated by a
 * clock that was ahead: it runs from now on, and is stored so.
 */
async function readStanding(
  trx: Transaction,
  keyId: string,
  { next, now }: { next: Ban; now: number },
): Promise<Ban | undefined> {
  const rows = await trx.all<BanRow>(sql`
    select * from bans where key_id = ${keyId} and lifted_at is null and ends_at > ${next.startedAt}
    order by started_at desc`);
  const row = rows.find(({ started_at }) => started_at < next.endsAt || next.endsAt > now);
  if (!row) return undefined;
  const stored = toBan(row);
  const ban = cappedBan(stored, now);
  if (ban !== stored) {
    const moments = { started_at: ban.startedAt, ends_at: ban.endsAt };
    await trx.run(sql`
      update bans set ${assignments(moments)} where key_id = ${keyId} and started_at = ${row.started_at}`);
  }
  return ban;
}

/** Lifts the running ban of a key and begins the next generation of its bans, as `KeyStorage.lift` promises. */
export async function liftBan(
  trx: Transaction,
  keyId: string,
  { now, by }: { now: number; by: Operator },
): Promise<boolean> {
  await trx.run(sql`update api_keys set epoch = epoch + 1 where id = ${keyId}`);
  const lifted = await trx.run(sql`
    update bans set lifted_at = ${now} where key_id = ${keyId} and ends_at > ${now} and lifted_at is null`);
  if (lifted === 0) return false;
  const [before, after] = [{ banned: true }, { banned: false }];
  await recordAudit(trx, { at: now, by, action: 'ban.lift', target: keyId, before, after });
  return true;
}

/**
 * Resets windows of a key as `KeyStorage.reset` promises. Their row knows of it too, so that operators see 0 at once.
 */
export async function resetWindows(
  trx: Transaction,
  key: Pick<ApiKey, 'id' | 'resets'>,
  { window, now, by }: { window: ResetWindow; now: number; by: Operator },
): Promise<void> {
  const [row] = await trx.all<Tables['window_counts']>(sql`select * from window_counts where key_id = ${key.id}`);
  const used = {
    minute: row && row.minute_ends > now ? row.minute_used : 0,
    day: row && row.day >= Math.floor(now / DAY_SECONDS) ? row.day_used : 0,
  };
  const names = window === 'both' ? (['minute', 'day'] as const) : [window];
  for (const name of names) {
    const number = { [`${name}_reset`]: Math.max(key.resets[name] + 1, now) };
    const counts = { ...number, [`${name}_used`]: 0 };
    await trx.run(sql`update api_keys set ${assignments(number)} where id = ${key.id}`);
    await trx.run(sql`update window_counts set ${assignments(counts)} where key_id = ${key.id}`);
  }
  // Refusals that count towards a ban are of the minute.
  if (window !== 'day') await trx.run(sql`update api_keys set epoch = epoch + 1 where id = ${key.id}`);
  const before = Object.fromEntries(names.map((name) => [`${name}Used`, used[name]]));
  const after = Object.fromEntries(names.map((name) => [`${name}Used`, 0]));
  await recordAudit(trx, { at: now, by, action: 'key.reset', target: key.id, before, after });
}

/** The ban in a row. */
export function toBan({ started_at, ends_at, level, reason }: Omit<BanRow, 'key_id' | 'lifted_at'>): Ban {
  return { startedAt: started_at, endsAt: ends_at, level, reason };
}
