import { CatalogError } from '../../catalog/error.ts';
import { banJson } from '../../catalog/operator/json.ts';
import { liftBan } from '../../catalog/operator/key-changes.ts';
import { PLACE_PARAMETERS, pageOf, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import { guarded, KEY_ID, keyIdOf } from './keys.ts';
import { type ApiOperation, apiOperation } from './operation.ts';
import { Ban } from './schema.ts';

const TAG = 'bans';

const listBans = apiOperation('listBans', 'GET /bans', {
  tag: TAG,
  summary: 'List bans',
  description: 'A page of the bans that are on, newest first.',
  permission: 'viewer',
  queryParameters: PLACE_PARAMETERS,
  success: pageOf(Ban, 'The bans', {
    keyId: 'key_VXnvMwGskigm0Sfq',
    startedAt: '2026-01-01T12:00:00Z',
    endsAt: '2026-01-01T12:01:00Z',
    level: 1,
    reason: 'refused 61 more times within a minute of a 429',
  }),
  async handle({ storage, now }, exchange) {
    const [limit, behind] = [readLimit(exchange.query), readPlace(exchange.query)];
    // Few keys are banned at once, so storage has no pages of them.
    const bans = await storage.keys.bans(now);
    const rest = behind
      ? bans.filter(({ startedAt: at, keyId }) => at < behind.number || (at === behind.number && keyId < behind.id))
      : bans;
    const last = rest.length > limit ? rest[limit - 1] : undefined;
    const items = rest.slice(0, limit).map(banJson);
    return placeAnswer(exchange, items, last && { number: last.startedAt, id: last.keyId });
  },
});

/** DELETE /keys/{keyId}/ban. */
const lift = apiOperation('liftBan', 'DELETE /keys/{keyId}/ban', {
  tag: TAG,
  summary: 'Lift a ban',
  description: 'Ends the ban of a key within a second, so that it does not lengthen later ones.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  success: { status: 204, description: 'The ban is lifted' },
  errors: ['not_found', 'precondition_failed'],
  async handle(context, exchange) {
    const id = keyIdOf(exchange);
    if (!(await liftBan(guarded(context, exchange), id)))
      throw new CatalogError('not_found', `The key ${id} is not banned`);
    return { status: 204 };
  },
});

export const banOperations: readonly ApiOperation[] = [listBans, lift];
