import { CatalogError } from '../../catalog/error.ts';
import { banJson } from '../../catalog/operator/json.ts';
import { refusedUntil } from '../../catalog/window-counts.ts';
import { utc } from '../../stdx/time.ts';
import { byChoice, pageOfAll } from './filters.ts';
import { findKey, OF_A_KEY } from './keys.ts';
import { operate } from './operation.ts';
import { Ban } from './schema.ts';

/** The operations on the bans of keys. */

type StoredBan = Parameters<typeof banJson>[0];

export const listBans = operate('ban.list', 'listBans', 'GET /bans', {
  summary: 'List bans',
  description: 'A page of the bans that are on, newest first.',
  permission: 'viewer',
  list: {
    noun: ['ban', 'bans'],
    schema: Ban,
    columns: [],
  },
  async handle({ storage, now }, page) {
    const placeOf = ({ startedAt, keyId }: StoredBan) => ({ number: startedAt, id: keyId });
    // Few keys are banned at once, so storage has no pages of them.
    return pageOfAll(await storage.keys.bans(now), { placeOf, json: banJson }, page);
  },
});

export const liftBan = operate('ban.lift', 'liftBan', 'DELETE /keys/{keyId}/ban', {
  ...OF_A_KEY,
  tag: 'bans',
  summary: 'Lift a ban',
  description:
    'Ends the ban of a key within a second, so that it does not lengthen later ones. With `reset=true` its windows are reset as well.',
  filters: { reset: byChoice('True to reset both windows of the key as well', ['true']) },
  success: { status: 204, description: 'The ban is lifted' },
  async handle(caller, { id, query: { reset }, precondition }) {
    const { storage, now, by } = caller;
    await findKey(caller, id);
    if (!(await storage.keys.lift(id, now, by, precondition, reset === 'true')))
      throw new CatalogError('not_found', `The key ${id} is not banned`);
    const row = await findKey(caller, id);
    // A lift does not empty the windows.
    const until = refusedUntil(await storage.limits.counts(id), row.limits, now);
    const note = until && `Its counts were not reset: requests are refused until ${utc(until)}`;
    return { row, ...(note && { note }) };
  },
});
