import { type ApiKey, KEY_SORTS, KEY_STATES, withoutSecret } from '../../catalog/api-key.ts';
import type { Ban as RunningBan } from '../../catalog/ban.ts';
import { banJson, type KeyJson, keyDetails, keysJson } from '../../catalog/operator/json.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import { html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import { Ban, Key } from '../api/schema.ts';
import { may } from '../frame/context.ts';
import { count, foreign, moment, utcDay } from '../frame/element.ts';
import { byChoice, byDuration, byMoment, byNumber, byText, pageOfAll, resource } from '../resource.ts';
import { trend, trendSteps } from '../usage/chart.ts';
import { ownerLink } from '../usage/usage.ts';
import { noKeyYet, stateBadge } from './keys.ts';
import { KEY_ANSWER } from './noun.ts';

const SORT_LABELS: Readonly<Record<(typeof KEY_SORTS)[number], string>> = {
  newest: 'newest first',
  oldest: 'oldest first',
  name: 'name',
  'last-used': 'last used',
  unused: 'longest unused',
  use: 'share of the day used',
  expiry: 'next expiry',
};
const ENDS = [7, 30, 90].map((days) => ({ value: `${days}d`, label: `in ${days} days` }));
const UNUSED = [7, 30, 90].map((days) => ({ value: `${days}d`, label: `for ${days} days` }));
const NEAR = [50, 80, 100].map((percent) => ({ value: `${percent}`, label: `${percent} % or more` }));
const KEYS_SHOWN_AT_ONCE = 100;

export const keys = resource({
  path: 'keys',
  title: 'Keys',
  noun: ['key', 'keys'],
  filters: {
    q: byText('Part of a name, an owner, an id or a prefix, regardless of case', {
      label: 'Name, owner, id or prefix',
      isWide: true,
    }),
    owner: byText("Only keys with this customer's id"),
    plan: byChoice('Only keys of this plan', PLAN_NAMES, { label: 'Plan' }),
    state: byChoice('Only keys in this state', KEY_STATES, { label: 'State' }),
    near: byNumber(
      "Only keys that used this many percent of their day's limit today",
      { minimum: 1, maximum: 100 },
      {
        label: 'Day used',
        choices: NEAR,
      },
    ),
    unused: byDuration('Only keys that were not used for this long, or never', '30d', {
      label: 'Unused',
      choices: UNUSED,
    }),
    expiresBefore: byMoment('Only keys that end before this moment', 'future', '30d', {
      label: 'Expires before',
      choices: ENDS,
    }),
  },
  sorts: KEY_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] })),
  async page({ storage, now }, { q = '', sort: asked, limit, behind, ...filter }) {
    const sort = KEY_SORTS.find((each) => each === asked);
    const query = { ...filter, text: withoutSecret(q), now };
    const { keys: rows, last } = await storage.keys.list({ ...query, sort, behind, limit });
    return { rows, last, total: await storage.keys.count(query) };
  },
  json: (context, rows) => keysJson(context, rows),
  columns: [
    { label: 'Id', member: 'id' },
    {
      label: 'Name',
      member: 'name',
      cell: ({ id, name, prefix }: ApiKey) =>
        html`<a href="/console/keys/${id}">${foreign(name)}</a><code class="under">${prefix}…</code>`,
      sorts: ['name'],
    },
    { label: 'Key', text: ({ prefix }: KeyJson) => `${prefix}…` },
    {
      label: 'State',
      cell: (key, _related, { now }) => html`${stateBadge(key, now)}${ending(key, now)}`,
      sorts: ['expiry'],
    },
    { label: 'Plan', member: 'plan', cell: ({ plan }) => html`${plan}` },
    { label: 'Limits', text: ({ limits }: KeyJson) => `${limits.minute}/min ${limits.day}/day` },
    { label: 'Owner', text: ({ owner }: KeyJson) => owner ?? '', cell: ({ owner }) => ownerLink(owner) },
    { label: 'Last hour', cell: ({ id }, { trends, since }) => trend(trends.get(id) ?? [], since) },
    {
      label: 'Day used',
      text: ({ usedToday, limits }: KeyJson) => share(usedToday, limits.day),
      cell: ({ id, limits }, { details }) => html`${percent(details.get(id)?.usedToday ?? 0, limits.day)} %`,
      isNumber: true,
      sorts: ['use'],
    },
    {
      label: 'Last used',
      text: ({ lastUsedAt }: KeyJson) => lastUsedAt ?? 'never',
      cell: ({ id }, { details }) => {
        const at = details.get(id)?.lastUsedAt;
        return at === undefined ? html`<span class="soft">never</span>` : moment(at);
      },
      sorts: ['last-used', 'unused'],
    },
    { label: 'Created', cell: ({ createdAt }) => moment(createdAt), sorts: ['newest', 'oldest'] },
    { label: 'State', text: stateText },
  ],
  csv: {
    columns:
      'id name prefix owner environment plan perMinute perDay scopes createdAt expiresAt revokedAt pausedAt lastUsedAt bannedUntil usedToday'.split(
        ' ',
      ),
    row({ limits, scopes, ban, graces: _, ...key }: KeyJson) {
      return {
        ...key,
        perMinute: limits.minute,
        perDay: limits.day,
        scopes: scopes.join(' '),
        bannedUntil: ban?.until ?? null,
      };
    },
  },
  api: {
    id: 'listKeys',
    tag: 'keys',
    summary: 'List keys',
    description:
      'A page of the keys, newest first; with `q` first those of which it is the whole name, owner, id or prefix. The filters combine.',
    schema: Key,
    example: KEY_ANSWER.example,
  },
  command: {
    usage: 'list',
    about: 'List the keys',
    none: 'No keys yet; `pet-catalog keys create --name NAME` issues one',
  },
  console: {
    head: (context) =>
      may(context, 'keys') ? html`<a class="button primary" href="/console/keys/new">New key</a>` : html``,
    async related({ storage, now }, rows) {
      const ids = rows.map(({ id }) => id);
      const steps = trendSteps(now);
      const used = await storage.usage.sums({
        ...steps,
        keyIds: ids.slice(0, KEYS_SHOWN_AT_ONCE),
        group: 'key',
        period: 'minute',
      });
      return {
        since: steps.since,
        trends: Map.groupBy(used, ({ id }) => id),
        details: await keyDetails({ storage, now }, ids),
      };
    },
    none: noKeyYet,
  },
});

export const bans = resource({
  path: 'bans',
  title: 'Bans',
  noun: ['ban', 'bans'],
  filters: {},
  async page({ storage, now }, page) {
    // Few keys are banned at once, so storage has no pages of them.
    const all = await storage.keys.bans(now);
    return pageOfAll(
      all,
      ({ startedAt, keyId }: RunningBan & { keyId: string }) => ({ number: startedAt, id: keyId }),
      page,
    );
  },
  json: (_context, rows) => rows.map(banJson),
  columns: [],
  api: {
    id: 'listBans',
    tag: 'bans',
    summary: 'List bans',
    description: 'A page of the bans that are on, newest first.',
    schema: Ban,
    example: {
      keyId: 'key_VXnvMwGskigm0Sfq',
      startedAt: '2026-01-01T12:00:00Z',
      endsAt: '2026-01-01T12:01:00Z',
      level: 1,
      reason: 'refused 61 more times within a minute of a 429',
    },
  },
});

function ending({ expiresAt, revokedAt }: ApiKey, now: number) {
  if (expiresAt === null || expiresAt <= now || revokedAt !== null) return html``;
  return html`<span class="under soft">until ${utcDay(expiresAt)}</span>`;
}

function stateText({ revokedAt, expiresAt, pausedAt, ban }: KeyJson, now: number): string {
  if (revokedAt) return `revoked ${revokedAt}`;
  if (expiresAt && expiresAt <= utc(now)) return `expired ${expiresAt}`;
  if (pausedAt) return `paused ${pausedAt}`;
  if (ban) return `banned until ${ban.until}`;
  return expiresAt ? `active until ${expiresAt}` : 'active';
}

function share(used: number, limit: number): string {
  return used === 0 ? '0 %' : `${count(used)} (${percent(used, limit)} %)`;
}

function percent(used: number, limit: number): number {
  return Math.floor((100 * used) / limit);
}
